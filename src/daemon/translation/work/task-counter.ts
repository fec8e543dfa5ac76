import type { Database } from '../../database/sqlite-database.ts';
import type { TaskCounts } from './task-counts.ts';

/** Tasks of one step. */
const STEP_TASKS = 200;

/**
 * Creates the writing of the status of the tasks of a growing build; call it inside a transaction. Nobody sees these tasks yet, so
 * it is done in bounded parts before the tasks replace others. Later changes of their units write the status again.
 *
 * @returns a function that says whether there may be more
 */
export function createTaskCounter({
  database,
  counts,
}: {
  readonly database: Database;
  readonly counts: Pick<TaskCounts, 'touch' | 'refresh'>;
}): (buildId: number, now: number) => boolean {
  // The plus keeps SQLite on the order of the table, in which the tasks of a build are beside each other.
  const tasks = database.prepare(`SELECT task_seq FROM task WHERE +build_id = :build_id
    AND task_seq > (SELECT counted_until FROM build WHERE build_id = :build_id)
    ORDER BY task_seq LIMIT ${STEP_TASKS}`);
  const advance = database.prepare('UPDATE build SET counted_until = ? WHERE build_id = ?');
  return (buildId, now) => {
    const part = tasks.all({ build_id: buildId }).map((row) => Number(row['task_seq']));
    for (const taskSeq of part) counts.touch(taskSeq);
    counts.refresh(now);
    const last = part.at(-1);
    if (last !== undefined) advance.run(last, buildId);
    return part.length === STEP_TASKS;
  };
}
