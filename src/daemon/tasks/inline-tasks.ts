import { ServiceError } from '../../contract/problems/service-error.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { IdempotencyRepository } from './idempotency-repository.ts';
import type { TaskEngine, TaskRow, TaskSubmission } from './task-engine.ts';
import { taskDedupeKey } from './task-identity.ts';
import { INTERNAL_REASON } from './task-outcome.ts';
import type { TaskEnding, TaskRepository } from './task-repository.ts';
import { TaskError } from './task.ts';

/** What {@link createInlineTasks} needs. */
export interface InlineTaskDependencies {
  readonly database: Database;
  readonly repository: TaskRepository;
  readonly idempotency: IdempotencyRepository;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Inserts the row of a task; without a handler it is running at once. */
  readonly insert: (submission: Omit<TaskSubmission, 'dedupe'>, dedupeKey: string, handler: null) => TaskRow;
  /** The task that the submission's idempotency key made. */
  readonly replayed: (submission: Omit<TaskSubmission, 'dedupe'>, dedupeKey: string) => TaskRow | null;
  readonly onEnded: (task: TaskRow) => void;
}

/** Creates what runs tasks inside their request, one after the other. */
export function createInlineTasks(deps: InlineTaskDependencies): {
  readonly record: TaskEngine['recordInline'];
} {
  const { database, repository, clock } = deps;
  let last: Promise<unknown> = Promise.resolve();

  const execute = async (
    submission: Omit<TaskSubmission, 'dedupe'>,
    run: Parameters<TaskEngine['recordInline']>[1],
  ): Promise<TaskRow> => {
    const dedupeKey = taskDedupeKey(submission.kind, submission.args);
    const { known, task } = database.transaction(() => {
      const known = deps.replayed(submission, dedupeKey);
      return { known, task: known ?? deps.insert(submission, dedupeKey, null) };
    });
    if (known !== null) return known;
    try {
      const result = await run();
      const ended = repository.end(
        task.task_id,
        { status: 'succeeded', result, failureCode: null, failureReason: null },
        unixSeconds(clock),
      );
      deps.onEnded(ended);
      return ended;
    } catch (error) {
      fail(task, error);
      throw error;
    }
  };

  /** Records the failure, and lets the same request be made again under its key. */
  const fail = (task: TaskRow, error: unknown): void => {
    try {
      const ended = database.transaction(() => {
        deps.idempotency.forgetTask(task.task_id);
        return repository.end(task.task_id, endingOf(error), unixSeconds(clock));
      });
      deps.onEnded(ended);
    } catch (cause) {
      deps.logger.error({ err: cause, task_id: task.task_id }, 'the failure of a task could not be recorded');
    }
  };

  return {
    record: (submission, run) => {
      const next = last.then(() => execute(submission, run));
      // Whoever asked gets the error; those behind it only wait for the end.
      last = next.catch(() => undefined);
      return next;
    },
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
