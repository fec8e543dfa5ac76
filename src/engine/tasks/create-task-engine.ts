import { type Task, TaskError } from './task.ts';
import { type Clock, unixSeconds } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { BackoffOptions } from '../../platform/process/backoff.ts';
import { createIdempotencyRepository } from './idempotency-repository.ts';
import { createInlineTasks } from './inline-tasks.ts';
import { createJobRegistry } from './job.ts';
import { type LaneRunner, createLaneRunner } from './lane-runner.ts';
import { createTaskAcceptance } from './task-acceptance.ts';
import type { TaskEngine } from './task-engine.ts';
import { type TaskLog, createTaskLog } from './task-log.ts';
import { recoverTasks } from './task-recovery.ts';
import { type TaskRepository, createTaskRepository } from './task-writes.ts';
import { createTaskRetention } from './task-retention.ts';
import { unknownName } from '../../contract/problems/value-errors.ts';

interface TaskEngineOptions {
  /** The main database. */
  readonly database: Database;
  readonly clock: Clock;
  /** In [0, 1); for the jitter of retries. */
  readonly random: () => number;
  /** Creates task ids in ascending order. */
  readonly createId: () => string;
  readonly logger: Logger;
  /** Different for every start of the process. */
  readonly bootId: string;
  /** Default: 2 seconds, at most 5 minutes. */
  readonly backoff?: BackoffOptions;
}

const DEFAULT_BACKOFF: BackoffOptions = { baseMs: 2000, capMs: 300_000 };

/** Creates the engine; nothing runs before `start`. */
export function createTaskEngine(options: TaskEngineOptions): TaskEngine {
  const { database, clock, logger, bootId } = options;
  const jobs = createJobRegistry();
  const repository = createTaskRepository(database);
  const idempotency = createIdempotencyRepository(database);
  const log = createTaskLog({ database, clock, logger });
  const { onEnded, onFinished } = createEndings(logger);
  const backoff = options.backoff ?? DEFAULT_BACKOFF;
  const runner = createLaneRunner({ ...options, repository, log, jobs, backoff, onEnded });
  const acceptance = createTaskAcceptance({ ...options, repository, idempotency });
  const cancel = createTaskCancellation({ database, repository, runner, log, clock, onEnded });
  const retention = createTaskRetention({ database, idempotency, clock, logger });
  let recovered = false;

  const recover = (): void => {
    if (recovered) return;
    const ended = database.transaction(() => {
      const tasks = recoverTasks(repository, jobs, bootId, clock.now());
      // As when an inline task fails: the same request can be made again under its key.
      for (const { task_id, lane } of tasks) if (lane === 'admin') idempotency.forgetTask(task_id);
      return tasks;
    });
    recovered = true;
    for (const task of ended) {
      const { task_id, kind, status } = task;
      logger.warn({ task_id, kind, status }, 'a task could not be resumed after a restart');
      onEnded(task);
    }
  };

  return {
    jobs,
    replayed: (submission) => {
      const task = acceptance.replayed(submission);
      return task === null ? null : withProgress(runner, task);
    },
    submit: (submission) => {
      const job = jobs.find(submission.kind);
      if (job === null) throw new Error(`no job is named ${submission.kind}`);
      const { task, deduplicated } = acceptance.queue(submission, job);
      runner.wake();
      return { task: withProgress(runner, task), deduplicated };
    },
    recordInline: createInlineTasks({
      database,
      repository,
      idempotency,
      acceptance,
      clock,
      logger,
      onEnded,
    }),
    cancel: (taskId, reason) => withProgress(runner, cancel(taskId, reason)),
    get: (taskId) => {
      const task = repository.get(taskId);
      return task === null ? null : withProgress(runner, task);
    },
    list: (limit) => repository.list(limit).map((task) => withProgress(runner, task)),
    running: () => repository.running().map((task) => withProgress(runner, task)),
    course: (taskId) => runner.course(taskId),
    logs: (taskId) => (repository.get(taskId) === null ? null : log.read(taskId)),
    counts: () => repository.counts(),
    historyOf: (kind) => repository.historyOf(kind, unixSeconds(clock)),
    runningSince: (kind) => repository.runningSince(kind),
    queues: () => repository.queues(),
    isScheduleActive: (scheduleId) => repository.isScheduleActive(scheduleId),
    onFinished,
    recover,
    start: () => {
      recover();
      runner.start();
      retention.start();
    },
    stop: async (graceMs) => {
      await Promise.all([retention.stop(), runner.stop(graceMs)]);
    },
  };
}

/** Adds the progress of a running task: the progress in memory is newer than the row. */
function withProgress(runner: LaneRunner, task: Task): Task {
  const progress = task.finished_at === null ? runner.run(task.task_id)?.progress() : null;
  return progress === null || progress === undefined ? task : { ...task, progress };
}

function createEndings(logger: Logger) {
  const listeners: Array<(task: Task) => void> = [];
  return {
    onEnded: (task: Task) => {
      for (const listener of listeners) {
        try {
          listener(task);
        } catch (error) {
          logger.error({ err: error, task_id: task.task_id }, 'a listener for finished tasks failed');
        }
      }
    },
    onFinished: (listener: (task: Task) => void) => void listeners.push(listener),
  };
}

/**
 * Creates the function that cancels a queued task and asks a running one to stop. It throws TaskError `unknown_task`
 * and `task_already_terminal`.
 */
function createTaskCancellation(options: {
  readonly database: Database;
  readonly repository: TaskRepository;
  readonly runner: LaneRunner;
  readonly log: TaskLog;
  readonly clock: Clock;
  readonly onEnded: (task: Task) => void;
}): (taskId: string, reason: string | null) => Task {
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
      throw new TaskError(
        'unknown_task',
        unknownName('task', taskId, '`slipway ctl tasks` lists those that are kept'),
      );
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
