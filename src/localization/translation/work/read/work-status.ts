import type { StateBefore } from '../../../../domain/translation/carry-over.ts';
import type { ReleaseUnits } from '../../../../domain/translation/expected-outcomes.ts';
import { freedState } from '../../../../domain/translation/requalify.ts';
import {
  UNIT_STATES,
  noUnits,
  type UnitCounts,
  type UsableState,
} from '../../../../domain/translation/unit-state.ts';
import { createFileTest, type GlobLists } from '../../../../platform/config/glob-filter.ts';
import { buildInState, type BuiltFor } from '../store/builds.ts';
import { countTasks } from '../store/task-page.ts';
import type { Work } from '../store/work.ts';
import { countHeldByState } from './held-units.ts';

/** The state of translation.db. The units are those of the current build; those on hold are in sum at most `HELD_COUNT_MAX`. */
export interface WorkStatus extends ReleaseUnits {
  readonly schemaVersion: number;
  readonly targetLanguage: string;
  /** Tasks by status, of all releases that reports show. */
  readonly tasks: Readonly<Record<string, number>>;
  /** The release and the generation of the index that the tasks were built for; `null` before the first. */
  readonly built: BuiltFor | null;
  /** Units by state of the files of that release that a localized release leaves out. The other counts of units are without them. */
  readonly excludedUnits: UnitCounts;
  /** Chunks that workers have leased. An expired lease was not taken back yet. */
  readonly leases: { readonly open: number; readonly expired: number };
  /** Chunks whose attempts are used up and that still have units without a target. */
  readonly failedChunks: number;
}

const SUMS = UNIT_STATES.map((state) => `sum(${state}) AS ${state}`).join(', ');
const OF_ALL = `SELECT '' AS destination, stored_status IS 'skipped' AS is_skipped, ${SUMS} FROM task
  WHERE build_id = ? GROUP BY is_skipped`;
const OF_FILES = `SELECT destination, stored_status IS 'skipped' AS is_skipped, ${SUMS} FROM task
  WHERE build_id = ? GROUP BY destination, is_skipped`;
const LEASES = `SELECT count(*) FILTER (WHERE lease_expires_at > :now) AS open,
  count(*) FILTER (WHERE lease_expires_at <= :now) AS expired FROM chunk WHERE state = 'leased'`;
const FAILED = `SELECT count(*) AS chunks FROM chunk JOIN task USING (task_seq)
  WHERE state = 'failed' AND open_units > 0 AND build_id = ?`;

/** Reads the state. @param lists the files that a localized release has */
export function status(work: Work, lists: GlobLists): WorkStatus {
  const build = buildInState(work, 'current');
  const buildId = build === undefined ? null : Number(build['build_id']);
  const isSelected = createFileTest(lists);
  const [units, skippedUnits, excludedUnits] = [noUnits(), noUnits(), noUnits()];
  // Without lists the sums of all files are enough.
  const sums = lists.include.length + lists.exclude.length === 0 ? OF_ALL : OF_FILES;
  for (const row of work.sql(sums).iterate(buildId)) {
    const kept = row['is_skipped'] === 1 ? skippedUnits : units;
    const counts = isSelected(String(row['destination'])) ? kept : excludedUnits;
    for (const state of UNIT_STATES) counts[state] += Number(row[state]);
  }
  const { open = 0, expired = 0 } = work.sql(LEASES).get({ now: work.now() }) ?? {};
  return {
    schemaVersion: work.database.schemaVersion,
    targetLanguage: work.targetLanguage,
    tasks: countTasks(work),
    built:
      build === undefined
        ? null
        : { releaseId: String(build['release_id']), generation: Number(build['generation']) },
    units,
    skippedUnits,
    excludedUnits,
    blockedUnits: countBlocked(work, buildId, isSelected),
    heldUnits: countHeldByState(work, buildId, isSelected),
    leases: { open: Number(open), expired: Number(expired) },
    failedChunks: Number(work.sql(FAILED).get(buildId)?.['chunks'] ?? 0),
  };
}

/** Most blocked units that are counted: a new term can block every unit of a release. */
const BLOCKED_COUNT_MAX = 10_000;
const BLOCKED = `SELECT destination, state_before, count(*) AS units
  FROM (SELECT destination, state_before FROM target INDEXED BY target_blocked
    CROSS JOIN task_unit USING (unit_id) JOIN task USING (task_seq)
    WHERE target.state = 'blocked' AND target.target_language = :language AND build_id = :build
    AND stored_status IS NOT 'skipped' AND NOT EXISTS
      (SELECT 1 FROM hold WHERE hold.unit_id = target.unit_id AND hold.target_language = :language)
    LIMIT ${BLOCKED_COUNT_MAX}) GROUP BY 1, 2`;

/**
 * Counts the blocked units of a build by the state that they would have without their findings. Units on hold and those of skipped
 * tasks are left out, and what is beyond {@link BLOCKED_COUNT_MAX}.
 */
function countBlocked(
  work: Work,
  buildId: number | null,
  isSelected: (destination: string) => boolean,
): Readonly<Record<UsableState, number>> {
  const counts = { draft: 0, translated: 0, proofread: 0 };
  for (const row of work.sql(BLOCKED).iterate({ language: work.targetLanguage, build: buildId })) {
    if (!isSelected(String(row['destination']))) continue;
    counts[freedState(row['state_before'] as StateBefore | null, 'draft')] += Number(row['units']);
  }
  return counts;
}
