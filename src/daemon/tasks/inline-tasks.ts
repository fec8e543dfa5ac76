import { ServiceError } from '../../contract/problems/service-error.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { IdempotencyRepository } from './idempotency-repository.ts';
import type { AcceptedTask, TaskAcceptance } from './task-acceptance.ts';
import type { Task, TaskEngine } from './task-engine.ts';
import { INTERNAL_REASON } from './task-outcome.ts';
import type { TaskEnding, TaskRepository } from './task-repository.ts';
import { TaskError } from './task.ts';

export interface InlineTaskOptions {
  readonly database: Database;
  readonly repository: Pick<TaskRepository, 'end'>;
  readonly idempotency: Pick<IdempotencyRepository, 'forgetTask'>;
  readonly acceptance: Pick<TaskAcceptance, 'begin'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onEnded: (task: Task) => void;
}

/** Creates the function that runs tasks inside their request, one after another. */
export function createInlineTasks(options: InlineTaskOptions): TaskEngine['recordInline'] {
  const { database, repository, clock } = options;
  let last: Promise<unknown> = Promise.resolve();

  const execute = async (
    ...[submission, run]: Parameters<TaskEngine['recordInline']>
  ): Promise<AcceptedTask> => {
    const accepted = options.acceptance.begin(submission);
    if (accepted.deduplicated) return accepted;
    try {
      const result = await run();
      const ending = { status: 'succeeded', result, failureCode: null, failureReason: null } as const;
      const task = repository.end(accepted.task.task_id, ending, unixSeconds(clock));
      options.onEnded(task);
      return { task, deduplicated: false };
    } catch (error) {
      fail(accepted.task, error);
      throw error;
    }
  };

  /** Records the failure. The same request can then be sent again under its key. */
  const fail = (task: Task, error: unknown): void => {
    try {
      const ended = database.transaction(() => {
        options.idempotency.forgetTask(task.task_id);
        return repository.end(task.task_id, endingOf(error), unixSeconds(clock));
      });
      options.onEnded(ended);
    } catch (cause) {
      options.logger.error(
        { err: cause, task_id: task.task_id },
        'the failure of a task could not be recorded',
      );
    }
  };

  return (submission, run) => {
    const next = last.then(() => execute(submission, run));
    // The caller gets the error; the next task only needs to wait for the end.
    last = next.catch(() => undefined);
    return next;
  };
}

function endingOf(error: unknown): TaskEnding {
  const known = error instanceof TaskError || error instanceof ServiceError;
  return {
    status: 'failed',
    result: null,
    failureCode: known ? error.code : 'internal_error',
    failureReason: known ? error.message : INTERNAL_REASON,
  };
}
