import { noUnits, type UnitCounts, type UnitState } from '../../../../domain/translation/unit-state.ts';
import { cutText } from '../../../../domain/text/cut-text.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { unitIdText } from '../../../unit-id-text.ts';

/** Most units on hold that are counted: a rollback can hold every unit of a release. */
export const HELD_COUNT_MAX = 10_000;

/** Most units on hold that are listed. */
const HELD_LISTED_MAX = 100;

/** UTF-16 code units of a source text that names a unit in a list. */
export const LISTED_TEXT_MAX = 200;

/** A unit on hold. `since` is in Unix seconds. */
interface HeldUnit {
  readonly task_id: string;
  readonly unit_id: string;
  readonly destination: string;
  /** The beginning of the text that its target was made for; `null` without a target. */
  readonly source_text: string | null;
  readonly reviewer: string | null;
  readonly reason: string | null;
  readonly since: number;
}

/** The units of a build that someone, or a rollback, has put on hold; those of skipped tasks are left out. */
interface HeldUnits {
  /** How many, at most {@link HELD_COUNT_MAX}. */
  count(buildId: number | null): number;
  /** The same units by the state of their target. @param isSelected which files count */
  countByState(buildId: number | null, isSelected: (destination: string) => boolean): UnitCounts;
  /** Some of them, in no special order. */
  list(buildId: number): readonly HeldUnit[];
}

/** Creates the reader. The joins begin with the holds, because most units have none. */
export function createHeldUnits(database: Database, targetLanguage: string): HeldUnits {
  const held = `FROM hold CROSS JOIN task_unit USING (unit_id) JOIN task USING (task_seq)
    WHERE hold.target_language = ? AND build_id = ? AND stored_status IS NOT 'skipped'`;
  const count = database.prepare(`SELECT count(*) AS units FROM (SELECT 1 ${held} LIMIT ${HELD_COUNT_MAX})`);
  const states =
    database.prepare(`SELECT coalesce(target.state, 'untranslated') AS state, destination, count(*) AS units
    FROM (SELECT hold.unit_id, hold.target_language, destination ${held} LIMIT ${HELD_COUNT_MAX}) AS held
    LEFT JOIN target USING (unit_id, target_language) GROUP BY 1, 2`);
  const list = database.prepare(
    `SELECT held.*, target.source_text FROM (SELECT task_id, destination, hold.unit_id, hold.target_language, hold.reviewer,
      hold.reason, hold.at ${held} LIMIT ${HELD_LISTED_MAX}) AS held LEFT JOIN target USING (unit_id, target_language)`,
  );
  return {
    count: (buildId) => Number(count.get(targetLanguage, buildId)?.['units'] ?? 0),
    countByState: (buildId, isSelected) => {
      const counts = noUnits();
      for (const { state, destination, units } of states.iterate(targetLanguage, buildId)) {
        if (isSelected(String(destination))) counts[state as UnitState] += Number(units);
      }
      return counts;
    },
    list: (buildId) =>
      list.all(targetLanguage, buildId).map((row) => ({
        task_id: String(row['task_id']),
        unit_id: unitIdText(row['unit_id'] as Uint8Array),
        destination: String(row['destination']),
        source_text:
          row['source_text'] === null ? null : cutText(String(row['source_text']), LISTED_TEXT_MAX).text,
        reviewer: row['reviewer'] as string | null,
        reason: row['reason'] as string | null,
        since: Number(row['at']),
      })),
  };
}
