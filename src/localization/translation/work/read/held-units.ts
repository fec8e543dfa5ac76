import type { ReportBodyOf } from '../../../../contract/reports/reports.ts';
import { noUnits, type UnitCounts, type UnitState } from '../../../../domain/translation/unit-state.ts';
import { cutText } from '../../../../domain/text/cut-text.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import type { Row } from '../store/target-rows.ts';
import type { Work } from '../store/work.ts';

/** Most units on hold that are counted: a rollback can hold every unit of a release. */
export const HELD_COUNT_MAX = 10_000;

const HELD_LISTED_MAX = 100;

/** UTF-16 code units of a source text that names a unit in a list. */
export const LISTED_TEXT_MAX = 200;

type HeldUnit = ReportBodyOf<'translation.handoff'>['releases'][number]['held'][number];

// The joins begin with the holds, because most units have none.
const HELD = `FROM hold CROSS JOIN task_unit USING (unit_id) JOIN task USING (task_seq)
  WHERE hold.target_language = ? AND build_id = ? AND stored_status IS NOT 'skipped'`;
const COUNT = `SELECT count(*) AS units FROM (SELECT 1 ${HELD} LIMIT ${HELD_COUNT_MAX})`;
const BY_STATE = `SELECT coalesce(target.state, 'untranslated') AS state, destination, count(*) AS units
  FROM (SELECT hold.unit_id, hold.target_language, destination ${HELD} LIMIT ${HELD_COUNT_MAX}) AS held
  LEFT JOIN target USING (unit_id, target_language) GROUP BY 1, 2`;
// Only a review records the token of a reviewer, and what it accepts is neither a draft nor blocked.
const RETURNED = `FROM target_history AS history CROSS JOIN target ON target.unit_id = history.unit_id
    AND target.target_language = ? AND target.entry = history.entry AND target.state IN ('draft', 'blocked')
  JOIN task_unit ON task_unit.unit_id = target.unit_id JOIN task USING (task_seq)
  WHERE history.reviewer_token_id IS NOT NULL AND history.state IN ('draft', 'blocked') AND build_id = ?
    AND stored_status IS NOT 'skipped'`;
const COUNT_RETURNED = `SELECT count(*) AS units FROM (SELECT 1 ${RETURNED} LIMIT ${HELD_COUNT_MAX})`;
const LIST_RETURNED = `SELECT task.task_id, destination, target.unit_id, target.source_text, history.reviewer, history.reason, history.at
  ${RETURNED} ORDER BY history.entry DESC LIMIT ${HELD_LISTED_MAX}`;
const LIST = `SELECT held.*, target.source_text FROM (SELECT task_id, destination, hold.unit_id, hold.target_language, hold.reviewer,
  hold.reason, hold.at ${HELD} LIMIT ${HELD_LISTED_MAX}) AS held LEFT JOIN target USING (unit_id, target_language)`;

/**
 * Counts the units of a build that someone, or a rollback, has put on hold, at most {@link HELD_COUNT_MAX}. Those of skipped tasks
 * are left out.
 */
export function countHeld(work: Work, buildId: number): number {
  return Number(work.sql(COUNT).get(work.targetLanguage, buildId)?.['units'] ?? 0);
}

/** Counts the same units by the state of their target. @param isSelected which files count */
export function countHeldByState(
  work: Work,
  buildId: number | null,
  isSelected: (destination: string) => boolean,
): UnitCounts {
  const counts = noUnits();
  for (const { state, destination, units } of work.sql(BY_STATE).iterate(work.targetLanguage, buildId)) {
    if (isSelected(String(destination))) counts[state as UnitState] += Number(units);
  }
  return counts;
}

/** Lists some of the same units, in no special order. */
export function listHeld(work: Work, buildId: number): HeldUnit[] {
  return work.sql(LIST).all(work.targetLanguage, buildId).map(decidedUnit);
}

/**
 * The units that a reviewer has returned and nobody has changed since, the newest return first. Those of skipped tasks are left out.
 *
 * @returns the first of them, and how many there are, at most {@link HELD_COUNT_MAX}
 */
export function listReturned(work: Work, buildId: number): { total: number; units: HeldUnit[] } {
  const { targetLanguage: language } = work;
  return {
    total: Number(work.sql(COUNT_RETURNED).get(language, buildId)?.['units'] ?? 0),
    units: work.sql(LIST_RETURNED).all(language, buildId).map(decidedUnit),
  };
}

function decidedUnit(row: Row): HeldUnit {
  return {
    task_id: String(row['task_id']),
    unit_id: unitIdText(row['unit_id'] as Uint8Array),
    destination: String(row['destination']),
    source_text:
      row['source_text'] === null ? null : cutText(String(row['source_text']), LISTED_TEXT_MAX).text,
    reviewer: row['reviewer'] as string | null,
    reason: row['reason'] as string | null,
    since: Number(row['at']),
  };
}
