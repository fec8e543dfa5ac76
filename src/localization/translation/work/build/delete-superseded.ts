import type { Work } from '../store/work.ts';

/** Units, and tasks, that one step of the cleanup deletes. */
const STEP_ROWS = 2000;
const STEP_TASKS = 200;
/** Superseded builds with tasks, those of which stay in the report. */
const KEPT_BUILDS = 10;

const NEXT_BUILD = `SELECT build_id, cleaned_until FROM build
  WHERE state IN ('superseded', 'dropped') AND is_clean = 0 ORDER BY build_id LIMIT 1`;
const DROP_CARRIED = `DELETE FROM carried WHERE build_id = ?1 AND unit_id IN
  (SELECT unit_id FROM carried WHERE build_id = ?1 LIMIT ${STEP_ROWS})`;
const DROP_HIDDEN = `DELETE FROM task WHERE task_seq IN
  (SELECT task_seq FROM task WHERE build_id = ? AND is_visible = 0 LIMIT ${STEP_TASKS})`;
const DROP_OLD = `DELETE FROM task WHERE task_seq IN
  (SELECT task_seq FROM task WHERE build_id IN (SELECT build_id FROM build WHERE state = 'superseded' AND is_clean = 1
    AND EXISTS (SELECT 1 FROM task AS left_over WHERE left_over.build_id = build.build_id) ORDER BY build_id DESC LIMIT -1 OFFSET ${KEPT_BUILDS}) LIMIT ${STEP_TASKS})`;

/**
 * Deletes a bounded part of what superseded builds left: units and chunks of all of them, and the tasks of all but the newest ones.
 * Targets and their history stay, and so do tasks of files that have not changed since: they are in the current build.
 *
 * @returns whether there may be more
 */
export function deleteSuperseded(work: Work): boolean {
  const next = work.sql(NEXT_BUILD).get();
  if (next === undefined) return Number(work.sql(DROP_OLD).run().changes) > 0;
  const buildId = Number(next['build_id']);
  if (deleteUnits(work, buildId, Number(next['cleaned_until']))) return true;
  if (Number(work.sql(DROP_CARRIED).run(buildId).changes) > 0) return true;
  if (Number(work.sql(DROP_HIDDEN).run(buildId).changes) > 0) return true;
  work.sql('UPDATE build SET is_clean = 1 WHERE build_id = ?').run(buildId);
  return true;
}

// The plus keeps SQLite on the order of the table: with the index of the build it would sort all tasks at each step.
const NEXT_TASKS = `SELECT task_seq FROM task WHERE +build_id = ? AND task_seq > ? ORDER BY task_seq LIMIT ${STEP_TASKS}`;
const DROP_UNITS = `DELETE FROM task_unit WHERE task_seq = ?1 AND number IN
  (SELECT number FROM task_unit WHERE task_seq = ?1 ORDER BY number LIMIT ?2)`;

/** Deletes the units and chunks of the tasks of a build, from a task on. @returns whether there was one */
function deleteUnits(work: Work, buildId: number, after: number): boolean {
  const part = work
    .sql(NEXT_TASKS)
    .all(buildId, after)
    .map((row) => Number(row['task_seq']));
  let left = STEP_ROWS;
  for (const taskSeq of part) {
    left -= Number(work.sql(DROP_UNITS).run(taskSeq, left).changes);
    if (left === 0) break;
    work.sql('DELETE FROM chunk WHERE task_seq = ?').run(taskSeq);
    work.sql('UPDATE build SET cleaned_until = ? WHERE build_id = ?').run(taskSeq, buildId);
  }
  return part.length > 0;
}
