import type { Database } from '../../database/sqlite-database.ts';
import { TASK_IS_OPEN } from './open-tasks.ts';
import type { RepeatedUnits } from './repeated-units.ts';

/** The work that is left for a run. */
export interface OpenUnits {
  /** Whether the filter names a task that exists. */
  readonly isKnown: boolean;
  /** Units without a usable target, in the tasks that the run may begin. Units that people hold are counted, too; those of
   * chunks whose attempts are used up are not. */
  readonly units: number;
  /** The last of these tasks; `null` without one. */
  readonly lastTask: number | null;
  /** Units of these tasks that got the target of an equal unit before. */
  readonly copied: number;
}

/**
 * Counts the open units of the tasks that workers may take, in the order of work.
 *
 * @param filter one task, or `null` for the first `maxTasks`
 * @param repeated counts the units that got the target of an equal one
 */
export function countOpenUnits(
  database: Database,
  { taskId, maxTasks }: { readonly taskId: string | null; readonly maxTasks: number },
  repeated: Pick<RepeatedUnits, 'copied'>,
): OpenUnits {
  const known =
    taskId === null ||
    database.prepare('SELECT 1 FROM task WHERE task_id = ? AND is_visible = 1').get(taskId);
  const row = database
    .prepare(
      `SELECT coalesce(sum(open), 0) AS units, max(task_seq) AS last_task FROM (SELECT task_seq, coalesce((SELECT sum(open_units) FROM chunk
       WHERE chunk.task_seq = task.task_seq AND state <> 'failed'), 0) AS open FROM task
       WHERE is_visible = 1 AND ${TASK_IS_OPEN}
       AND untranslated + stale > 0 AND coalesce(task_id = ?, 1) ORDER BY task_seq LIMIT ?)`,
    )
    .get(taskId, maxTasks);
  const lastTask = row?.['last_task'] as number | null;
  const copied = repeated.copied({ taskId, lastTask });
  return { isKnown: known !== undefined, units: Number(row?.['units']), lastTask, copied };
}
