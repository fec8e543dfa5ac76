import { unknownName } from '../../contract/problems/value-errors.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { LaneRunner } from './lane-runner.ts';
import type { TaskLog } from './task-log.ts';
import type { TaskRepository } from './task-writes.ts';
import { TaskError, type Task } from './task.ts';

export interface TaskCancellationOptions {
  readonly database: Pick<Database, 'transaction'>;
  readonly repository: Pick<TaskRepository, 'get' | 'requestCancel' | 'end'>;
  readonly runner: Pick<LaneRunner, 'run'>;
  readonly log: Pick<TaskLog, 'add'>;
  readonly clock: Clock;
  readonly onEnded: (task: Task) => void;
}

/**
 * Creates the function that cancels a queued task and asks a running one to stop. It throws TaskError `unknown_task`
 * and `task_already_terminal`.
 */
export function createTaskCancellation(
  options: TaskCancellationOptions,
): (taskId: string, reason: string | null) => Task {
  const { database, repository, runner, log } = options;

  /** @returns the task: ended if it was queued, otherwise marked */
  const mark = (task: Task, reason: string | null): Task =>
    database.transaction(() => {
      const now = unixSeconds(options.clock);
      repository.requestCancel(task.task_id, now, reason);
      if (task.status === 'running') return repository.get(task.task_id) ?? task;
      const ending = { status: 'cancelled', result: null, failureCode: null, failureReason: null } as const;
      return repository.end(task.task_id, ending, now);
    });

  return (taskId, reason) => {
    const task = repository.get(taskId);
    if (task === null) {
      throw new TaskError('unknown_task', unknownName('task', taskId, 'task.list shows the kept ones'));
    }
    if (task.finished_at !== null) {
      const ended = `task ${taskId} has ended already (${task.status}); there is nothing to cancel`;
      throw new TaskError('task_already_terminal', ended);
    }
    if (task.status === 'cancelling') return task;
    const reasonField = reason === null ? undefined : { reason };
    const marked = mark(task, reason);
    if (marked.finished_at === null) {
      log.add(taskId, 'info', 'asked to stop', reasonField);
      runner.run(taskId)?.interrupt('cancel');
    } else {
      log.add(taskId, 'info', 'cancelled before it started', reasonField);
      options.onEnded(marked);
    }
    return marked;
  };
}
