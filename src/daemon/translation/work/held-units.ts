import { noUnits, type UnitCounts, type UnitState } from '../../../domain/translation/unit-state.ts';
import type { Database } from '../../database/sqlite-database.ts';
import { unitIdText } from '../../parse/index/unit-id-text.ts';

/** Most units on hold that are counted: a rollback can hold every unit of a release. */
export const HELD_COUNT_MAX = 10_000;

/** Most units on hold that are listed. */
const HELD_LISTED_MAX = 100;

/** A unit on hold. `since` is in Unix seconds. */
export interface HeldUnit {
  readonly task_id: string;
  readonly unit_id: string;
  readonly reviewer: string | null;
  readonly reason: string | null;
  readonly since: number;
}

/** The units of a build that someone, or a rollback, has put on hold; those of skipped tasks are left out. */
export interface HeldUnits {
  /** How many, at most {@link HELD_COUNT_MAX}. */
  count(buildId: number | null): number;
  /** The same units by the state of their target. */
  countByState(buildId: number | null): UnitCounts;
  /** Some of them, in no special order. */
  list(buildId: number): readonly HeldUnit[];
}

/** Creates the reader. The joins begin with the holds, because most units have none. */
export function createHeldUnits(database: Database, targetLanguage: string): HeldUnits {
  const held = `FROM hold CROSS JOIN task_unit USING (unit_id) JOIN task USING (task_seq)
    WHERE hold.target_language = ? AND build_id = ? AND stored_status IS NOT 'skipped'`;
  const count = database.prepare(`SELECT count(*) AS units FROM (SELECT 1 ${held} LIMIT ${HELD_COUNT_MAX})`);
  const states = database.prepare(`SELECT coalesce(target.state, 'untranslated') AS state, count(*) AS units
    FROM (SELECT hold.unit_id, hold.target_language ${held} LIMIT ${HELD_COUNT_MAX}) AS held
    LEFT JOIN target USING (unit_id, target_language) GROUP BY 1`);
  const list = database.prepare(
    `SELECT task_id, hold.unit_id, hold.reviewer, hold.reason, hold.at ${held} LIMIT ${HELD_LISTED_MAX}`,
  );
  return {
    count: (buildId) => Number(count.get(targetLanguage, buildId)?.['units'] ?? 0),
    countByState: (buildId) => {
      const counts = noUnits();
      for (const { state, units } of states.iterate(targetLanguage, buildId)) {
        counts[state as UnitState] = Number(units);
      }
      return counts;
    },
    list: (buildId) =>
      list.all(targetLanguage, buildId).map((row) => ({
        task_id: String(row['task_id']),
        unit_id: unitIdText(row['unit_id'] as Uint8Array),
        reviewer: row['reviewer'] as string | null,
        reason: row['reason'] as string | null,
        since: Number(row['at']),
      })),
  };
}
