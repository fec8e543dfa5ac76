import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { OPEN_STATUSES } from '../../../../domain/translation/task-status.ts';
import type { WorkTools } from '../store/work-tools.ts';
import { createCarrier } from './carry-targets.ts';

/** The result of a complete build. */
export interface BuildResult {
  readonly tasks: number;
  /** Units whose target was kept or became stale, by how they follow the release before. */
  readonly carried: Readonly<Record<string, number>>;
  readonly superseded: number;
}

/**
 * Applies what `carried` says, and switches reports to the new tasks. Current tasks that the build only repeats stay with their
 * ids, and the build is given up.
 */
export function createFinish({
  database,
  targetLanguage,
  targets,
  counts,
}: WorkTools): (buildId: number, now: number) => BuildResult {
  const supersede = database.prepare(`UPDATE task SET stored_status = 'superseded', status = 'superseded',
    worker_status = 'idle', lease_owner = NULL, lease_expires_at = NULL, next_attempt_at = NULL, updated_at = ?
    WHERE build_id IN (SELECT build_id FROM build WHERE target_language = ? AND state = 'current')`);
  const endLeases =
    database.prepare(`UPDATE chunk SET state = 'cancelled', lease_token = NULL WHERE state = 'leased'
    AND +task_seq IN (SELECT task_seq FROM task WHERE stored_status = 'superseded')`);
  // The plus keeps SQLite from its index on archive_entry: most tasks have none, so each would be compared with all others.
  const keepSkipped = database.prepare(`UPDATE task SET stored_status = 'skipped', reason = old.reason
    FROM task AS old JOIN build AS old_build ON old_build.build_id = old.build_id
    WHERE task.build_id = ? AND old_build.state = 'current' AND old.stored_status = 'skipped'
    AND old.release_id = task.release_id AND old.destination = task.destination
    AND +old.archive_entry IS task.archive_entry RETURNING task.task_seq`);
  // Work that a reviewer returned, or a person began, is still to be done in the next release.
  const keepOpen = database.prepare(`UPDATE task SET stored_status = old.stored_status, reason = old.reason
    FROM task AS old JOIN build AS old_build ON old_build.build_id = old.build_id
    WHERE task.build_id = ? AND old_build.state = 'current' AND old_build.target_language = task.target_language
    AND old.stored_status IN (${OPEN_STATUSES.map((status) => `'${status}'`).join(', ')}) AND old.destination = task.destination
    AND +old.archive_entry IS task.archive_entry RETURNING task.task_seq`);
  // A container whose targets stay in their places needs no new judgement.
  const keepJudged = database.prepare(`UPDATE task SET judged_by = old.judged_by
    FROM task AS old JOIN build AS old_build ON old_build.build_id = old.build_id
    WHERE task.build_id = ? AND old_build.state = 'current' AND old_build.target_language = task.target_language
    AND old.destination = task.destination AND old.archive_entry IS task.archive_entry
    AND (old.release_id = task.release_id OR NOT task.has_moved)`);
  const endBuild = database.prepare(
    `UPDATE build SET state = 'superseded' WHERE target_language = ? AND state = 'current'`,
  );
  const show = database.prepare(`UPDATE build SET state = 'current', finished_at = ? WHERE build_id = ?`);
  const showTasks = database.prepare('UPDATE task SET is_visible = 1 WHERE build_id = ?');
  const tasks = database.prepare('SELECT count(*) AS count FROM task WHERE build_id = ?');
  const applyAll = createCarrier(database, targetLanguage, targets);
  const sameTasks = createSameTasks(database, targetLanguage);
  const renew = database.prepare(`UPDATE build SET finished_at = ?,
    generation = (SELECT generation FROM build WHERE build_id = ?) WHERE build_id = ?`);
  const drop = createDrop(database);
  const count = (buildId: number, now: number): number => {
    counts.refresh(now);
    return Number(tasks.get(buildId)?.['count']);
  };
  return (buildId, now) => {
    const currentId = sameTasks(buildId);
    if (currentId !== null) {
      const carried = applyAll(buildId, now);
      renew.run(now, buildId, currentId);
      drop(buildId);
      return { tasks: count(currentId, now), carried, superseded: 0 };
    }
    for (const { task_seq: seq } of [...keepSkipped.all(buildId), ...keepOpen.all(buildId)]) {
      counts.touch(Number(seq));
    }
    keepJudged.run(buildId);
    const superseded = Number(supersede.run(now, targetLanguage).changes);
    endLeases.run();
    const carried = applyAll(buildId, now);
    endBuild.run(targetLanguage);
    show.run(now, buildId);
    showTasks.run(buildId);
    return { tasks: count(buildId, now), carried, superseded };
  };
}

/**
 * Creates the search for current tasks that a complete build only repeats, as one does after the same release was parsed again:
 * the same release, and in each container the same units in the same places.
 *
 * @returns a function of the build, which returns the id of the current build; `null` when its tasks are others
 */
export function createSameTasks(
  database: Database,
  targetLanguage: string,
): (buildId: number) => number | null {
  const current = database.prepare(`SELECT old.build_id FROM build AS old JOIN build ON build.build_id = ?
    WHERE old.target_language = ? AND old.state = 'current'
    AND old.release_id = build.release_id AND old.units = build.units`);
  // With as many units on both sides, no unit is left over when each task has its like.
  const other = database.prepare(`SELECT 1 FROM task
    LEFT JOIN task AS old ON old.build_id = :current AND old.destination = task.destination
      AND (old.archive_entry IS NULL) = (task.archive_entry IS NULL)
      AND coalesce(old.archive_entry, '') = coalesce(task.archive_entry, '')
      AND old.index_position = task.index_position AND old.format = task.format
      AND old.parse_status = task.parse_status AND old.units_digest = task.units_digest
    WHERE task.build_id = :build AND old.task_seq IS NULL LIMIT 1`);
  return (buildId) => {
    const found = current.get(buildId, targetLanguage);
    if (found === undefined) return null;
    const currentId = Number(found['build_id']);
    return other.get({ build: buildId, current: currentId }) === undefined ? currentId : null;
  };
}

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
