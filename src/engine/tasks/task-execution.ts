import type { Task, TaskContext } from './task.ts';
import { type Clock, unixSeconds } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { BackoffOptions } from '../../platform/process/backoff.ts';
import type { Job } from './job.ts';
import { type CoursePhase, createLastCourses } from './task-course.ts';
import type { TaskLog } from './task-log.ts';
import { type RunEnd, type TaskOutcome, decideOutcome } from './task-outcome.ts';
import type { TaskEnding, TaskRepository } from './task-writes.ts';
import { type TaskRun, createTaskRun } from './task-run.ts';

export interface TaskExecutionOptions {
  readonly repository: TaskRepository;
  readonly log: TaskLog;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly backoff: BackoffOptions;
  /** Called with every task that reached a terminal state. */
  readonly onEnded: (task: Task) => void;
}

/** Runs started tasks, and records how each ended. */
interface TaskExecution {
  /** Creates the run of a task before it begins. */
  prepare(task: Task): TaskRun;
  /** How the progress of the last run of a task went; empty when it is no longer known. */
  course(taskId: string): readonly CoursePhase[];
  /** Resolves when the end of the task is recorded, or when recording was abandoned. */
  execute(task: Task, job: Job, run: TaskRun): Promise<void>;
  /** Stops the retries to record ends that the database still refuses. */
  abandon(): void;
}

/** Wait before a retry when the database refused a write. */
export const DATABASE_RETRY_MS = 5000;

/** Creates the functions that run tasks. */
export function createTaskExecution(options: TaskExecutionOptions): TaskExecution {
  const { repository, log, clock, logger } = options;
  const courses = createLastCourses();
  let abandoned = false;

  const record = (taskId: string, run: TaskRun, outcome: TaskOutcome): Task | null => {
    const progress = run.progress();
    if (progress !== null) repository.writeProgress(taskId, progress, unixSeconds(clock));
    log.flush();
    return recordOutcome(repository, taskId, outcome, clock.now());
  };

  /** Retries while the database refuses: the lane must not start another task before the end is recorded. */
  const recordPatiently = async (taskId: string, run: TaskRun, outcome: TaskOutcome): Promise<void> => {
    for (;;) {
      if (abandoned) return;
      try {
        const ended = record(taskId, run, outcome);
        if (ended !== null) options.onEnded(ended);
        return;
      } catch (error) {
        logger.error({ err: error, task_id: taskId }, 'the end of a task could not be recorded; retrying');
      }
      await clock.sleep(DATABASE_RETRY_MS);
    }
  };

  return {
    prepare: (task) => {
      const run = createTaskRun(task, {
        clock,
        log: (level, message, fields) => {
          logger[level]({ ...fields, task_id: task.task_id, kind: task.kind }, message);
          log.add(task.task_id, level, message, fields);
        },
        writeProgress: (progress) => {
          try {
            repository.writeProgress(task.task_id, progress, unixSeconds(clock));
          } catch (error) {
            logger.warn({ err: error, task_id: task.task_id }, 'progress could not be written');
          }
        },
      });
      courses.keep(task.task_id, run.course);
      return run;
    },
    course: (taskId) => courses.read(taskId),
    execute: async (task, job, run) => {
      run.context.log('info', `${task.kind} started`, { attempt: task.attempt });
      const end = await runJob(job, run);
      const outcome = decideOutcome(end, {
        cancelRequested: run.cancelRequested(),
        attempt: task.attempt,
        maxAttempts: task.max_attempts,
        resumable: job.resumable,
        backoff: options.backoff,
        random: options.random(),
      });
      if (outcome.next === 'failed' && outcome.code === 'internal_error' && 'thrown' in end) {
        logger.error(
          { err: end.thrown, task_id: task.task_id, kind: task.kind },
          'a task failed unexpectedly',
        );
      }
      logOutcome(run.context, task, outcome);
      await recordPatiently(task.task_id, run, outcome);
    },
    abandon: () => {
      abandoned = true;
    },
  };
}

async function runJob(job: Job, run: TaskRun): Promise<RunEnd> {
  return await Promise.resolve()
    .then(() => job.run(run.context))
    .then(
      (returned): RunEnd => ({ returned }),
      (thrown: unknown): RunEnd => ({ thrown, byAbort: run.isAbort(thrown) }),
    );
}

/**
 * Writes the outcome of a task.
 *
 * @param nowMs wall clock, Unix milliseconds
 * @returns the task when it is now terminal, `null` when it is queued again
 */
function recordOutcome(
  repository: TaskRepository,
  taskId: string,
  outcome: TaskOutcome,
  nowMs: number,
): Task | null {
  if (outcome.next === 'retried' || outcome.next === 'waiting' || outcome.next === 'resumed') {
    const failed = outcome.next === 'resumed' ? null : outcome;
    repository.requeue(taskId, {
      runAtMs: nowMs + (failed?.delayMs ?? 0),
      attemptCounts: outcome.next === 'retried',
      recovered: false,
      failureCode: failed?.code ?? null,
      failureReason: failed?.reason ?? null,
    });
    return null;
  }
  return repository.end(taskId, endingOf(outcome), Math.floor(nowMs / 1000));
}

/** Adds the end of a run to the task's log. */
function logOutcome(context: TaskContext, task: Task, outcome: TaskOutcome): void {
  switch (outcome.next) {
    case 'succeeded':
      context.log('info', `${task.kind} succeeded`);
      break;
    case 'cancelled':
      context.log('info', `${task.kind} was cancelled`);
      break;
    case 'resumed':
      context.log('info', `${task.kind} was interrupted; it is resumed when the daemon starts again`);
      break;
    case 'retried':
      context.log('warn', `attempt ${task.attempt} of ${task.max_attempts} failed: ${outcome.reason}`, {
        code: outcome.code,
        retry_in_ms: outcome.delayMs,
      });
      break;
    case 'waiting':
      context.log('info', `${task.kind} waits: ${outcome.reason}`, {
        code: outcome.code,
        retry_in_ms: outcome.delayMs,
      });
      break;
    case 'failed':
      context.log('error', `${task.kind} failed: ${outcome.reason}`, { code: outcome.code });
      break;
  }
}

function endingOf(outcome: Extract<TaskOutcome, { next: 'succeeded' | 'failed' | 'cancelled' }>): TaskEnding {
  switch (outcome.next) {
    case 'succeeded':
      return { status: 'succeeded', result: outcome.result, failureCode: null, failureReason: null };
    case 'failed':
      return {
        status: 'failed',
        result: outcome.details,
        failureCode: outcome.code,
        failureReason: outcome.reason,
      };
    case 'cancelled':
      return { status: 'cancelled', result: null, failureCode: null, failureReason: null };
  }
}
