import type { ReleaseUnits } from '../../../../domain/translation/expected-outcomes.ts';
import {
  UNIT_STATES,
  noUnits,
  type UnitCounts,
  type UnitState,
  type UsableState,
} from '../../../../domain/translation/unit-state.ts';
import { createFileTest, type GlobLists } from '../../../../platform/config/glob-filter.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { createHeldUnits } from './held-units.ts';
import { countTasks } from '../store/task-page.ts';
import type { Row } from '../store/target-rows.ts';
import { freedState } from '../../../../domain/translation/requalify.ts';
import type { WorkTools } from '../store/work-tools.ts';
import type { StateBefore } from '../../../../domain/translation/carry-over.ts';

/** The state of translation.db. The units are those of the current build; those on hold are in sum at most `HELD_COUNT_MAX`. */
export interface WorkStatus extends ReleaseUnits {
  readonly schemaVersion: number;
  readonly targetLanguage: string;
  /** Tasks by status, of all releases that reports show. */
  readonly tasks: Readonly<Record<string, number>>;
  /** The release and the generation of the index that the tasks were built for; `null` before the first. */
  readonly built: { readonly releaseId: string; readonly generation: number } | null;
  /** Units by state of the files of that release that a localized release leaves out. The other counts of units are without them. */
  readonly excludedUnits: UnitCounts;
  /** Chunks that workers have leased. An expired lease was not taken back yet. */
  readonly leases: { readonly open: number; readonly expired: number };
  /** Chunks whose attempts are used up and that still have units without a target. */
  readonly failedChunks: number;
}

/** Creates the function that reads the state for one target language. @returns a function of the files that a localized release has */
export function createWorkStatus({
  database,
  targetLanguage,
  now,
}: WorkTools): (files: GlobLists) => WorkStatus {
  const current = database.prepare(
    `SELECT build_id, release_id, generation FROM build WHERE target_language = ? AND state = 'current'`,
  );
  const sums = UNIT_STATES.map((state) => `sum(${state}) AS ${state}`).join(', ');
  const all =
    database.prepare(`SELECT '' AS destination, stored_status IS 'skipped' AS is_skipped, ${sums} FROM task
    WHERE build_id = ? GROUP BY is_skipped`);
  const files =
    database.prepare(`SELECT destination, stored_status IS 'skipped' AS is_skipped, ${sums} FROM task
    WHERE build_id = ? GROUP BY destination, is_skipped`);
  const leases = database.prepare(`SELECT count(*) FILTER (WHERE lease_expires_at > :now) AS open,
    count(*) FILTER (WHERE lease_expires_at <= :now) AS expired FROM chunk WHERE state = 'leased'`);
  const failed = database.prepare(`SELECT count(*) AS chunks FROM chunk JOIN task USING (task_seq)
    WHERE state = 'failed' AND open_units > 0 AND build_id = ?`);
  const held = createHeldUnits(database, targetLanguage);
  const blocked = createBlockedUnits(database, targetLanguage);
  return (lists) => {
    const build = current.get(targetLanguage);
    const buildId = build === undefined ? null : Number(build['build_id']);
    const isSelected = createFileTest(lists);
    const [selectedUnits, skippedUnits, excludedUnits] = [noUnits(), noUnits(), noUnits()];
    // Without lists the sums of all files are enough.
    const rows = lists.include.length + lists.exclude.length === 0 ? all : files;
    for (const row of rows.iterate(buildId)) {
      const kept = row['is_skipped'] === 1 ? skippedUnits : selectedUnits;
      addCounts(isSelected(String(row['destination'])) ? kept : excludedUnits, row);
    }
    const { open = 0, expired = 0 } = leases.get({ now: now() }) ?? {};
    return {
      schemaVersion: database.schemaVersion,
      targetLanguage,
      tasks: countTasks(database),
      built:
        build === undefined
          ? null
          : { releaseId: String(build['release_id']), generation: Number(build['generation']) },
      units: selectedUnits,
      skippedUnits,
      excludedUnits,
      blockedUnits: blocked(buildId, isSelected),
      heldUnits: held.countByState(buildId, isSelected),
      leases: { open: Number(open), expired: Number(expired) },
      failedChunks: Number(failed.get(buildId)?.['chunks'] ?? 0),
    };
  };
}

function addCounts(counts: Record<UnitState, number>, row: Row): void {
  for (const state of UNIT_STATES) counts[state] += Number(row[state]);
}

/** Most blocked units that are looked at: a new term can block every unit of a release. */
const BLOCKED_COUNT_MAX = 10_000;

/**
 * Creates the count of the blocked units of a build by the state that they would have without their findings. Units on hold and
 * those of skipped tasks are left out, and what is beyond {@link BLOCKED_COUNT_MAX}.
 */
function createBlockedUnits(
  database: Database,
  targetLanguage: string,
): (
  buildId: number | null,
  isSelected: (destination: string) => boolean,
) => Readonly<Record<UsableState, number>> {
  const blocked = database.prepare(`SELECT destination, state_before, count(*) AS units
    FROM (SELECT destination, state_before FROM target INDEXED BY target_blocked
      CROSS JOIN task_unit USING (unit_id) JOIN task USING (task_seq)
      WHERE target.state = 'blocked' AND target.target_language = :language AND build_id = :build
      AND stored_status IS NOT 'skipped' AND NOT EXISTS
        (SELECT 1 FROM hold WHERE hold.unit_id = target.unit_id AND hold.target_language = :language)
      LIMIT ${BLOCKED_COUNT_MAX}) GROUP BY 1, 2`);
  return (buildId, isSelected) => {
    const counts = { draft: 0, translated: 0, proofread: 0 };
    for (const row of blocked.iterate({ language: targetLanguage, build: buildId })) {
      if (!isSelected(String(row['destination']))) continue;
      counts[freedState(row['state_before'] as StateBefore | null, 'draft')] += Number(row['units']);
    }
    return counts;
  };
}
