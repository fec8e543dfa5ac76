import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { BackoffOptions } from '../../platform/process/backoff.ts';
import { logOutcome, recordOutcome } from './outcome-recorder.ts';
import { createStoreLock } from './store-lock.ts';
import type { TaskRow } from './task-engine.ts';
import type { TaskLog } from './task-log.ts';
import { decideOutcome, type RunEnd, type TaskOutcome } from './task-outcome.ts';
import type { TaskRepository } from './task-repository.ts';
import { createTaskRun, type TaskRun } from './task-run.ts';
import { chooseStarts, type LaneHead } from './task-start-rules.ts';
import type { TaskHandler, TaskLane } from './task.ts';

/** What {@link createLaneRunner} needs. */
export interface LaneRunnerDependencies {
  readonly repository: TaskRepository;
  readonly log: TaskLog;
  readonly handlers: ReadonlyMap<string, TaskHandler>;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly bootId: string;
  readonly backoff: BackoffOptions;
  /** Called with every task that reached a terminal state. */
  readonly onEnded: (task: TaskRow) => void;
}

/** Starts what is queued, one task a lane, and records how each ended. */
export interface LaneRunner {
  /** Begins to start tasks. */
  start(): void;
  /** Looks for what can start; cheap, and safe to call at any time. */
  wake(): void;
  /** The run of a task, if it runs now. */
  run(taskId: string): TaskRun | null;
  /** Which task runs in each busy lane. */
  running(): ReadonlyMap<TaskLane, string>;
  /** Starts nothing more, asks every run to stop, and waits for them at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

interface BusyLane {
  readonly taskId: string;
  readonly run: TaskRun;
  readonly ended: Promise<void>;
}

/** Lanes whose tasks the runner starts; `admin` tasks run inside their request. */
const LANES: readonly TaskLane[] = ['release', 'verify', 'parse', 'i18n'];
/** Wait before the database is tried again after it refused a write. */
const DATABASE_RETRY_MS = 5000;
/** The timer is armed anew at least so often, because the wall clock may have been set meanwhile. */
const MAX_TIMER_MS = 60_000;

/** Creates a runner that starts nothing before `start`. */
export function createLaneRunner(deps: LaneRunnerDependencies): LaneRunner {
  const { repository, log, handlers, clock, logger } = deps;
  const lock = createStoreLock();
  const busy = new Map<TaskLane, BusyLane>();
  let timer = new AbortController();
  let woken = false;
  let started = false;
  let stopping = false;
  let abandoned = false;

  const wake = (): void => {
    if (woken || stopping || !started) return;
    woken = true;
    // Not at once: what submits a task is answered with the queued row before the handler begins.
    queueMicrotask(() => {
      woken = false;
      startDue();
    });
  };

  const wakeAfter = (ms: number): void => {
    timer.abort();
    timer = new AbortController();
    // The sleep only rejects when the timer is armed anew or the runner stops.
    clock.sleep(ms, timer.signal).then(wake, () => undefined);
  };

  const startDue = (): void => {
    if (stopping) return;
    try {
      const nowMs = clock.now();
      for (const head of chooseStarts(laneHeads(nowMs), lock.state())) start(head);
      const next = repository.nextRunAtMs(nowMs);
      if (next !== null) wakeAfter(Math.min(Math.max(next - nowMs, 1), MAX_TIMER_MS));
    } catch (error) {
      logger.error({ err: error }, 'the next task could not be started; trying again soon');
      wakeAfter(DATABASE_RETRY_MS);
    }
  };

  const laneHeads = (nowMs: number): LaneHead[] =>
    LANES.flatMap((lane) => {
      if (busy.has(lane)) return [];
      const due = repository.nextDue(lane, nowMs);
      const handler = due === null ? undefined : handlers.get(due.kind);
      if (due === null || handler === undefined) return [];
      return [{ taskId: due.taskId, lane, seq: due.seq, storeLock: handler.storeLock }];
    });

  const start = ({ taskId, lane, storeLock }: LaneHead): void => {
    const task = repository.begin(taskId, deps.bootId, unixSeconds(clock));
    const handler = handlers.get(task.kind);
    if (handler === undefined) throw new Error(`no handler for ${task.kind}`);
    const release = lock.acquire(storeLock);
    const run = createTaskRun(task, {
      clock,
      log: (level, message, fields) => {
        logger[level]({ ...fields, task_id: taskId, kind: task.kind }, message);
        log.add(taskId, level, message, fields);
      },
      writeProgress: (progress) => {
        try {
          repository.writeProgress(taskId, progress, unixSeconds(clock));
        } catch (error) {
          logger.warn({ err: error, task_id: taskId }, 'progress could not be written');
        }
      },
    });
    const ended = execute(task, handler, run).finally(() => {
      release();
      busy.delete(lane);
      wake();
    });
    busy.set(lane, { taskId, run, ended });
  };

  const execute = async (task: TaskRow, handler: TaskHandler, run: TaskRun): Promise<void> => {
    run.context.log('info', `${task.kind} started`, { attempt: task.attempt });
    const end = await Promise.resolve()
      .then(() => handler.run(run.context))
      .then(
        (returned): RunEnd => ({ returned }),
        (thrown: unknown): RunEnd => ({ thrown, byAbort: run.isAbort(thrown) }),
      );
    const outcome = decideOutcome(end, {
      cancelRequested: run.cancelRequested(),
      attempt: task.attempt,
      maxAttempts: task.max_attempts,
      resumable: handler.resumable,
      backoff: deps.backoff,
      random: deps.random(),
    });
    if (outcome.next === 'failed' && outcome.code === 'internal_error' && 'thrown' in end) {
      logger.error({ err: end.thrown, task_id: task.task_id, kind: task.kind }, 'a task failed unexpectedly');
    }
    logOutcome(run.context, task, outcome);
    await recordPatiently(task.task_id, run, outcome);
  };

  /** Tries again while the database refuses: until it is recorded how the task ended, its lane must not go on. */
  const recordPatiently = async (taskId: string, run: TaskRun, outcome: TaskOutcome): Promise<void> => {
    for (;;) {
      if (abandoned) return;
      try {
        const ended = record(taskId, run, outcome);
        if (ended !== null) deps.onEnded(ended);
        return;
      } catch (error) {
        logger.error(
          { err: error, task_id: taskId },
          'the end of a task could not be recorded; trying again',
        );
      }
      await clock.sleep(DATABASE_RETRY_MS);
    }
  };

  const record = (taskId: string, run: TaskRun, outcome: TaskOutcome): TaskRow | null => {
    const progress = run.progress();
    if (progress !== null) repository.writeProgress(taskId, progress, unixSeconds(clock));
    log.flush();
    return recordOutcome(repository, taskId, outcome, clock.now());
  };

  return {
    start: () => {
      started = true;
      wake();
    },
    wake,
    run: (taskId) => [...busy.values()].find((lane) => lane.taskId === taskId)?.run ?? null,
    running: () => new Map([...busy].map(([lane, { taskId }]) => [lane, taskId])),
    stop: async (graceMs) => {
      stopping = true;
      timer.abort();
      const runs = [...busy.values()];
      for (const { run } of runs) run.interrupt('stop');
      const grace = new AbortController();
      const inTime = await Promise.race([
        Promise.allSettled(runs.map(({ ended }) => ended)).then(() => true),
        clock.sleep(graceMs, grace.signal).then(
          () => false,
          () => true,
        ),
      ]);
      grace.abort();
      abandoned = true;
      log.flush();
      if (!inTime) {
        const tasks = [...busy.values()].map(({ taskId }) => taskId);
        logger.warn({ tasks }, 'tasks did not stop in time; they are recovered at the next start');
      }
    },
  };
}
