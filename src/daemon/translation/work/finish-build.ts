import type { Database } from '../../database/sqlite-database.ts';
import { OPEN_STATUSES } from '../../../domain/translation/task-status.ts';
import { createDrop } from './build-cleanup.ts';
import { createCarrier } from './carry-targets.ts';
import { createSameTasks } from './same-tasks.ts';
import type { TaskCounts } from './task-counts.ts';
import type { TargetStore } from './target-store.ts';

/** The result of a complete build. */
export interface BuildResult {
  readonly tasks: number;
  /** Units whose target was kept or became stale, by how they follow the release before. */
  readonly carried: Readonly<Record<string, number>>;
  /** Tasks that the new ones replace. */
  readonly superseded: number;
}

export interface FinishOptions {
  readonly database: Database;
  readonly targetLanguage: string;
  readonly targets: TargetStore;
  readonly counts: TaskCounts;
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
}: FinishOptions): (buildId: number, now: number) => BuildResult {
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
