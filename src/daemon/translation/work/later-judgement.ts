import type { Database } from '../../database/sqlite-database.ts';
import type { JudgedBy } from './judged-by.ts';

/**
 * Makes the tasks of a unit be judged again whose other targets were, or are now being, judged by something else than this target:
 * by other rules, by another Glossary, or before or after a proofread of the container.
 *
 * @returns a function of the unit and of what its target was judged by; `null` for a target that was not judged
 */
export function createLaterJudgement(
  database: Database,
): (unitId: Uint8Array, judgedBy: JudgedBy | null) => void {
  const reset =
    database.prepare(`UPDATE task SET judged_by = NULL, judging_by = NULL, judging_resets = judging_resets + 1
    WHERE coalesce(judging_by, judged_by) <> ? AND task_seq IN (SELECT task_seq FROM task_unit WHERE unit_id = ?)`);
  return (unitId, judgedBy) => {
    if (judgedBy !== null) reset.run(judgedBy.key, unitId);
  };
}
