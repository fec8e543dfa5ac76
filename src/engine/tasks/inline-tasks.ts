import type { TaskEnding, TaskRepository } from './task-writes.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { IdempotencyRepository } from './idempotency-repository.ts';
import type { TaskAcceptance } from './task-acceptance.ts';
import type { TaskEngine } from './task-engine.ts';
import { storageTaskError } from './storage-task-error.ts';
import { INTERNAL_REASON } from './task-outcome.ts';
import { TaskError, type Task, type AcceptedTask, type TaskResult } from './task.ts';

/** Longest that a caller waits for an inline task, in milliseconds, the wait for earlier ones of its kind included. */
export const INLINE_WAIT_MS = 30_000;

/**
 * Creates the function that runs tasks inside their request: those of one kind one after the other, so that an action
 * that hangs holds up only its own kind.
 */
export function createInlineTasks(options: {
  readonly database: Database;
  readonly repository: TaskRepository;
  readonly idempotency: IdempotencyRepository;
  readonly acceptance: TaskAcceptance;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onEnded: (task: Task) => void;
}): TaskEngine['recordInline'] {
  const { database, repository, clock } = options;
  /** By kind, the end of the last task; it is never rejected. */
  const last = new Map<string, Promise<unknown>>();

  const execute = async (
    ...[submission, run]: Parameters<TaskEngine['recordInline']>
  ): Promise<AcceptedTask> => {
    const accepted = options.acceptance.begin(submission);
    if (accepted.deduplicated) return accepted;
    const succeed = (result: TaskResult): Task => {
      const ending = { status: 'succeeded', result, failureCode: null, failureReason: null } as const;
      return repository.end(accepted.task.task_id, ending, unixSeconds(clock));
    };
    try {
      // One transaction: a crash between the change and the end of the task would let a retry make the change twice.
      const begun = database.transaction(() => {
        const result = run();
        return { ended: result instanceof Promise ? result.then(succeed) : succeed(result) };
      });
      const task = await begun.ended;
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

  return async (submission, run) => {
    const { kind } = submission;
    const deadline = new AbortController();
    let hasBegun = false;
    const next = (last.get(kind) ?? Promise.resolve()).then(() => {
      // The caller got an error that says that it was not started.
      deadline.signal.throwIfAborted();
      hasBegun = true;
      return execute(submission, run);
    });
    // The caller gets the error; the next task only waits for the end.
    last.set(
      kind,
      next.catch(() => undefined),
    );
    const ended = new AbortController();
    const late = clock.sleep(INLINE_WAIT_MS, ended.signal).then(() => {
      const error = hangs(kind, hasBegun);
      deadline.abort(error);
      throw error;
    });
    try {
      return await Promise.race([next, late]);
    } finally {
      ended.abort();
    }
  };
}

function hangs(kind: string, hasBegun: boolean): ServiceError {
  const seconds = INLINE_WAIT_MS / 1000;
  return new ServiceError(
    'backend_unavailable',
    hasBegun
      ? `${kind} has not ended after ${seconds} seconds and still runs: look for it in task.list; if it hangs, check the volumes and restart the daemon`
      : `${kind} was not started: an earlier ${kind} has not ended within ${seconds} seconds; if it hangs, check the volumes and restart the daemon`,
  );
}

function endingOf(error: unknown): TaskEnding {
  const known = error instanceof TaskError || error instanceof ServiceError ? error : storageTaskError(error);
  return {
    status: 'failed',
    result: null,
    failureCode: known?.code ?? 'internal_error',
    failureReason: known?.message ?? INTERNAL_REASON,
  };
}
