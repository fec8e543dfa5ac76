import type { ReleaseUnits } from '../../../domain/translation/expected-outcomes.ts';
import {
  noUnits,
  UNIT_STATES,
  type UnitCounts,
  type UnitState,
} from '../../../domain/translation/unit-state.ts';
import { createFileTest, type GlobLists } from '../../../platform/config/glob-filter.ts';
import type { Database } from '../../database/sqlite-database.ts';
import { createBlockedUnits } from './blocked-units.ts';
import { createHeldUnits } from './held-units.ts';
import { countTasks } from './task-page.ts';
import type { Row } from './target-rows.ts';

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
  return (now, lists) => {
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
