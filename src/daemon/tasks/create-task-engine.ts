import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { BackoffOptions } from '../../platform/process/backoff.ts';
import { createIdempotencyRepository } from './idempotency-repository.ts';
import { createInlineTasks } from './inline-tasks.ts';
import { createLaneRunner } from './lane-runner.ts';
import type { TaskEngine, TaskRow, TaskSubmission } from './task-engine.ts';
import { idempotencyDigest, taskDedupeKey } from './task-identity.ts';
import { createTaskLog } from './task-log.ts';
import { recoverTasks } from './task-recovery.ts';
import { createTaskRepository } from './task-repository.ts';
import { createTaskRetention } from './task-retention.ts';
import { TaskError, type TaskHandler } from './task.ts';

/** What {@link createTaskEngine} needs. */
export interface TaskEngineDependencies {
  /** The main database. */
  readonly database: Database;
  readonly clock: Clock;
  /** In [0, 1); for the jitter of retries. */
  readonly random: () => number;
  /** Makes task ids, in ascending order. */
  readonly createId: () => string;
  readonly logger: Logger;
  /** Different for every start of the process. */
  readonly bootId: string;
  /** Default: 2 seconds, at most 5 minutes. */
  readonly backoff?: BackoffOptions;
}

const DEFAULT_BACKOFF: BackoffOptions = { baseMs: 2000, capMs: 300_000 };
const IDEMPOTENCY_SECONDS = 86_400;
const PRUNE_INTERVAL_MS = 3_600_000;

/** Creates the engine; nothing runs before `start`. */
export function createTaskEngine(deps: TaskEngineDependencies): TaskEngine {
  const { database, clock, logger, bootId } = deps;
  const repository = createTaskRepository(database);
  const idempotency = createIdempotencyRepository(database);
  const retention = createTaskRetention(database);
  const log = createTaskLog({ database, clock, logger });
  const handlers = new Map<string, TaskHandler>();
  const listeners: Array<(task: TaskRow) => void> = [];
  const stopped = new AbortController();

  const onEnded = (task: TaskRow): void => {
    for (const listener of listeners) {
      try {
        listener(task);
      } catch (error) {
        logger.error({ err: error, task_id: task.task_id }, 'a listener to the end of tasks failed');
      }
    }
  };

  const runner = createLaneRunner({
    repository,
    log,
    handlers,
    clock,
    random: deps.random,
    logger,
    bootId,
    backoff: deps.backoff ?? DEFAULT_BACKOFF,
    onEnded,
  });

  /** A running task has newer progress in memory than in its row. */
  const withProgress = (task: TaskRow): TaskRow => {
    const progress = task.finished_at === null ? runner.run(task.task_id)?.progress() : null;
    return progress === null || progress === undefined ? task : { ...task, progress };
  };

  const replayed = (submission: Omit<TaskSubmission, 'dedupe'>, dedupeKey: string): TaskRow | null => {
    const { idempotencyKey, kind } = submission;
    if (idempotencyKey === undefined) return null;
    const known = idempotency.find(
      idempotencyDigest(idempotencyKey),
      unixSeconds(clock) - IDEMPOTENCY_SECONDS,
    );
    if (known === null) return null;
    if (known.dedupeKey !== dedupeKey) {
      throw new TaskError(
        'idempotency_key_reused',
        `the Idempotency-Key was used for another request than ${kind} with these fields; send a new key`,
      );
    }
    return repository.get(known.taskId);
  };

  const insert = (
    submission: Omit<TaskSubmission, 'dedupe'>,
    dedupeKey: string,
    handler: Pick<TaskHandler, 'lane' | 'maxAttempts'> | null,
  ): TaskRow => {
    const task = repository.insert({
      taskId: deps.createId(),
      kind: submission.kind,
      lane: handler?.lane ?? 'admin',
      status: handler === null ? 'running' : 'queued',
      args: submission.args,
      dedupeKey,
      maxAttempts: handler?.maxAttempts ?? 1,
      nowMs: clock.now(),
      bootId,
      scheduleId: submission.scheduleId ?? null,
      reviewer: submission.reviewer ?? null,
      reason: submission.reason ?? null,
      correlationId: submission.correlationId ?? null,
    });
    if (submission.idempotencyKey !== undefined) {
      const digest = idempotencyDigest(submission.idempotencyKey);
      idempotency.remember(digest, task.task_id, dedupeKey, unixSeconds(clock));
    }
    return task;
  };

  const inline = createInlineTasks({
    database,
    repository,
    idempotency,
    clock,
    logger,
    insert,
    replayed,
    onEnded,
  });

  const pruneForever = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      try {
        const now = unixSeconds(clock);
        idempotency.forgetBefore(now - IDEMPOTENCY_SECONDS);
        const removed = retention.prune(now);
        if (removed > 0) logger.info({ removed }, 'old tasks were removed');
      } catch (error) {
        logger.error({ err: error }, 'old tasks could not be removed');
      }
      // Rejected only by the stop, which ends the loop.
      await clock.sleep(PRUNE_INTERVAL_MS, stopped.signal).catch(() => undefined);
    }
  };

  let recovered = false;
  const recover = (): void => {
    if (recovered) return;
    const ended = database.transaction(() => recoverTasks(repository, handlers, bootId, clock.now()));
    recovered = true;
    for (const task of ended) {
      const { task_id, kind, status } = task;
      logger.warn({ task_id, kind, status }, 'a task did not survive a restart');
      onEnded(task);
    }
  };

  return {
    register: (handler) => {
      if (handlers.has(handler.kind)) throw new Error(`a task kind is registered twice: ${handler.kind}`);
      if (handler.lane === 'admin') throw new Error(`${handler.kind}: admin tasks run inside their request`);
      handlers.set(handler.kind, handler);
    },
    submit: (submission) => {
      const handler = handlers.get(submission.kind);
      if (handler === undefined) throw new Error(`no task kind is named ${submission.kind}`);
      const dedupeKey = taskDedupeKey(submission.kind, submission.args);
      const answer = database.transaction(() => {
        const known =
          replayed(submission, dedupeKey) ?? (submission.dedupe ? repository.findLive(dedupeKey) : null);
        if (known !== null) return { task: withProgress(known), deduplicated: true };
        return { task: insert(submission, dedupeKey, handler), deduplicated: false };
      });
      runner.wake();
      return answer;
    },
    recordInline: inline.record,
    cancel: (taskId, reason) => {
      const task = repository.get(taskId);
      if (task === null) throw new TaskError('unknown_task', `no task has the id "${taskId.slice(0, 128)}"`);
      if (task.finished_at !== null) {
        throw new TaskError('task_already_terminal', `task ${taskId} has ended already: ${task.status}`);
      }
      if (task.status === 'cancelling') return withProgress(task);
      const reasonField = reason === null ? undefined : { reason };
      const cancelled = database.transaction(() => {
        const now = unixSeconds(clock);
        repository.requestCancel(taskId, now, reason);
        if (task.status === 'running') return repository.get(taskId) ?? task;
        const ending = { status: 'cancelled', result: null, failureCode: null, failureReason: null } as const;
        return repository.end(taskId, ending, now);
      });
      if (cancelled.finished_at === null) {
        log.add(taskId, 'info', 'asked to stop', reasonField);
        runner.run(taskId)?.interrupt('cancel');
        return withProgress(cancelled);
      }
      log.add(taskId, 'info', 'cancelled before it started', reasonField);
      onEnded(cancelled);
      return cancelled;
    },
    get: (taskId) => {
      const task = repository.get(taskId);
      return task === null ? null : withProgress(task);
    },
    list: (limit) => repository.list(limit).map(withProgress),
    logs: (taskId) => (repository.get(taskId) === null ? null : log.read(taskId)),
    counts: () => repository.counts(),
    isScheduleActive: (scheduleId) => repository.isScheduleActive(scheduleId),
    onFinished: (listener) => {
      listeners.push(listener);
    },
    recover,
    start: () => {
      recover();
      runner.start();
      void pruneForever();
    },
    stop: async (graceMs) => {
      stopped.abort();
      await runner.stop(graceMs);
    },
  };
}
