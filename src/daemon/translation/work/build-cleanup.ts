import type { Database } from '../../database/sqlite-database.ts';

/** Units, and tasks, that one step of the cleanup deletes. */
const STEP_ROWS = 2000;
const STEP_TASKS = 200;
/** Superseded builds whose tasks stay in the report. */
const KEPT_BUILDS = 10;

/** Gives up a growing build. Its rows are deleted by the cleanup. */
export function createDrop(database: Database): (buildId: number) => void {
  const tasks = database.prepare(
    `UPDATE task SET stored_status = 'superseded', status = 'superseded' WHERE build_id = ?`,
  );
  const build = database.prepare(`UPDATE build SET state = 'superseded' WHERE build_id = ?`);
  return (buildId) => {
    tasks.run(buildId);
    build.run(buildId);
  };
}

/**
 * Deletes a bounded part of what superseded builds left: units and chunks of all of them, and the tasks of all but
 * the newest ones. Targets and their history stay.
 *
 * @returns whether there may be more
 */
export function createCleanup(database: Database): () => boolean {
  const build = database.prepare(`SELECT build_id, cleaned_until FROM build
    WHERE state = 'superseded' AND is_clean = 0 ORDER BY build_id LIMIT 1`);
  const cleanTasks = createTaskCleanup(database);
  const carried = database.prepare(`DELETE FROM carried WHERE build_id = ?1 AND unit_id IN
    (SELECT unit_id FROM carried WHERE build_id = ?1 LIMIT ${STEP_ROWS})`);
  const hidden = database.prepare(`DELETE FROM task WHERE task_seq IN
    (SELECT task_seq FROM task WHERE build_id = ? AND is_visible = 0 LIMIT ${STEP_TASKS})`);
  const old = database.prepare(`DELETE FROM task WHERE task_seq IN
    (SELECT task_seq FROM task WHERE build_id IN (SELECT build_id FROM build WHERE state = 'superseded' AND is_clean = 1
      ORDER BY build_id DESC LIMIT -1 OFFSET ${KEPT_BUILDS}) LIMIT ${STEP_TASKS})`);
  const end = database.prepare('UPDATE build SET is_clean = 1 WHERE build_id = ?');
  return () => {
    const next = build.get();
    if (next === undefined) return Number(old.run().changes) > 0;
    const buildId = Number(next['build_id']);
    if (cleanTasks(buildId, Number(next['cleaned_until']))) return true;
    if (Number(carried.run(buildId).changes) > 0 || Number(hidden.run(buildId).changes) > 0) return true;
    end.run(buildId);
    return true;
  };
}

/** Creates the deletion of the units and chunks of the tasks of a build, from a task on. @returns whether there was one */
function createTaskCleanup(database: Database): (buildId: number, after: number) => boolean {
  // The plus keeps SQLite on the order of the table: with the index of the build it would sort all tasks at each step.
  const tasks = database.prepare(
    `SELECT task_seq FROM task WHERE +build_id = ? AND task_seq > ? ORDER BY task_seq LIMIT ${STEP_TASKS}`,
  );
  const units = database.prepare(`DELETE FROM task_unit WHERE task_seq = ?1 AND number IN
    (SELECT number FROM task_unit WHERE task_seq = ?1 ORDER BY number LIMIT ?2)`);
  const chunks = database.prepare('DELETE FROM chunk WHERE task_seq = ?');
  const advance = database.prepare('UPDATE build SET cleaned_until = ? WHERE build_id = ?');
  return (buildId, after) => {
    const part = tasks.all(buildId, after).map((row) => Number(row['task_seq']));
    let left = STEP_ROWS;
    for (const taskSeq of part) {
      left -= Number(units.run(taskSeq, left).changes);
      if (left === 0) break;
      chunks.run(taskSeq);
      advance.run(taskSeq, buildId);
    }
    return part.length > 0;
  };
}
