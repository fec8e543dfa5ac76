import {
  noUnits,
  UNIT_STATES,
  type UnitCounts,
  type UnitState,
} from '../../../domain/translation/unit-state.ts';
import { createGlobFilter, type GlobLists } from '../../../platform/config/glob-filter.ts';
import type { Database } from '../../database/sqlite-database.ts';
import { createBlockedUnits, type FreedCounts } from './blocked-units.ts';
import { createHeldUnits } from './held-units.ts';
import { countTasks } from './task-page.ts';
import type { Row } from './target-rows.ts';

/** The state of translation.db. */
export interface WorkStatus {
  readonly schemaVersion: number;
  readonly targetLanguage: string;
  /** Tasks by status, of all releases that reports show. */
  readonly tasks: Readonly<Record<string, number>>;
  /** The release and the generation of the index that the tasks were built for; `null` before the first. */
  readonly built: { readonly releaseId: string; readonly generation: number } | null;
  /** Units of that release by state, without those of skipped tasks and of excluded files. */
  readonly units: UnitCounts;
  /** Units of its skipped tasks by state. */
  readonly skippedUnits: UnitCounts;
  /** Units by state of its other tasks whose files a localized release leaves out. */
  readonly excludedUnits: UnitCounts;
  /** The blocked ones of `units` that are not on hold, by the state that they have without their findings. */
  readonly blockedUnits: FreedCounts;
  /** Those of `units` that are on hold by state, in sum at most `HELD_COUNT_MAX`. */
  readonly heldUnits: UnitCounts;
  /** Chunks that workers have leased. An expired lease was not taken back yet. */
  readonly leases: { readonly open: number; readonly expired: number };
  /** Chunks whose attempts are used up and that still have units without a target. */
  readonly failedChunks: number;
}

/**
 * Reads the state.
 *
 * @param now Unix seconds
 * @param files the files that a localized release has
 */
export type ReadWorkStatus = (now: number, files: GlobLists) => WorkStatus;

/** Creates the function that reads the state for one target language. */
export function createWorkStatus(database: Database, targetLanguage: string): ReadWorkStatus {
  const current = database.prepare(
    `SELECT build_id, release_id, generation FROM build WHERE target_language = ? AND state = 'current'`,
  );
  const sums = UNIT_STATES.map((state) => `sum(${state}) AS ${state}`).join(', ');
  const units = database.prepare(`SELECT stored_status IS 'skipped' AS is_skipped, ${sums} FROM task
    WHERE build_id = ? GROUP BY is_skipped`);
  const files = database.prepare(`SELECT destination, ${sums} FROM task
    WHERE build_id = ? AND stored_status IS NOT 'skipped' GROUP BY destination`);
  const leases = database.prepare(`SELECT count(*) FILTER (WHERE lease_expires_at > :now) AS open,
    count(*) FILTER (WHERE lease_expires_at <= :now) AS expired FROM chunk WHERE state = 'leased'`);
  const failed = database.prepare(`SELECT count(*) AS chunks FROM chunk JOIN task USING (task_seq)
    WHERE state = 'failed' AND open_units > 0 AND build_id = ?`);
  const held = createHeldUnits(database, targetLanguage);
  const blocked = createBlockedUnits(database, targetLanguage);
  return (now, lists) => {
    const build = current.get(targetLanguage);
    const buildId = build === undefined ? null : Number(build['build_id']);
    const rows = units.all(buildId);
    const unitsOf = (isSkipped: number): Record<UnitState, number> =>
      countsOf(rows.find((row) => row['is_skipped'] === isSkipped));
    const filter = createGlobFilter(lists);
    const isSelected = filter ?? (() => true);
    const excludedUnits = noUnits();
    if (filter !== null) {
      for (const row of files.iterate(buildId)) {
        if (!isSelected(String(row['destination']))) add(excludedUnits, countsOf(row), 1);
      }
    }
    const selectedUnits = unitsOf(0);
    add(selectedUnits, excludedUnits, -1);
    const { open = 0, expired = 0 } = leases.get({ now }) ?? {};
    return {
      schemaVersion: database.schemaVersion,
      targetLanguage,
      tasks: countTasks(database),
      built:
        build === undefined
          ? null
          : { releaseId: String(build['release_id']), generation: Number(build['generation']) },
      units: selectedUnits,
      skippedUnits: unitsOf(1),
      excludedUnits,
      blockedUnits: blocked(buildId, isSelected),
      heldUnits: held.countByState(buildId, isSelected),
      leases: { open: Number(open), expired: Number(expired) },
      failedChunks: Number(failed.get(buildId)?.['chunks'] ?? 0),
    };
  };
}

function countsOf(row: Row | undefined): Record<UnitState, number> {
  const counts = noUnits();
  if (row !== undefined) for (const state of UNIT_STATES) counts[state] = Number(row[state]);
  return counts;
}

function add(counts: Record<UnitState, number>, more: UnitCounts, sign: 1 | -1): void {
  for (const state of UNIT_STATES) counts[state] += sign * more[state];
}
