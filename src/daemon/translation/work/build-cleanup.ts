import type { Database } from '../../database/sqlite-database.ts';

/** Rows that one step of the cleanup deletes. */
const STEP_ROWS = 5000;
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
  const task = database.prepare(
    'SELECT task_seq FROM task WHERE build_id = ? AND task_seq > ? ORDER BY task_seq LIMIT 1',
  );
  const units = database.prepare(`DELETE FROM task_unit WHERE task_seq = ?1 AND number IN
    (SELECT number FROM task_unit WHERE task_seq = ?1 ORDER BY number LIMIT ${STEP_ROWS})`);
  const chunks = database.prepare('DELETE FROM chunk WHERE task_seq = ?');
  const advance = database.prepare('UPDATE build SET cleaned_until = ? WHERE build_id = ?');
  const carried = database.prepare('DELETE FROM carried WHERE build_id = ?');
  const hidden = database.prepare('DELETE FROM task WHERE build_id = ? AND is_visible = 0');
  const old = database.prepare(`DELETE FROM task WHERE build_id IN (SELECT build_id FROM build
    WHERE state = 'superseded' AND is_clean = 1 ORDER BY build_id DESC LIMIT -1 OFFSET ${KEPT_BUILDS})`);
  const end = database.prepare('UPDATE build SET is_clean = 1 WHERE build_id = ?');
  return () => {
    const next = build.get();
    if (next === undefined) return false;
    const buildId = Number(next['build_id']);
    const row = task.get(buildId, Number(next['cleaned_until']));
    if (row === undefined) {
      carried.run(buildId);
      hidden.run(buildId);
      end.run(buildId);
      old.run();
      return true;
    }
    const taskSeq = Number(row['task_seq']);
    if (Number(units.run(taskSeq).changes) === STEP_ROWS) return true;
    chunks.run(taskSeq);
    advance.run(taskSeq, buildId);
    return true;
  };
}
