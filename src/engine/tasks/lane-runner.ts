import { RETRY_AFTER_MAX_MS } from '../../platform/process/backoff.ts';
import { type Clock, unixSeconds } from '../../platform/process/clock.ts';
import type { JobDefinition, JobRegistry } from './job.ts';
import { withTrace } from '../../platform/logging/trace.ts';
import type { DueTask } from './task-reads.ts';
import type { TaskRepository } from './task-writes.ts';
import { DATABASE_RETRY_MS, type TaskExecutionOptions, createTaskExecution } from './task-execution.ts';
import type { CoursePhase } from './task-course.ts';
import type { TaskRun } from './task-run.ts';
import type { TaskLane } from './task.ts';

interface LaneRunnerOptions extends TaskExecutionOptions {
  readonly jobs: JobRegistry;
  readonly bootId: string;
}

/** Starts queued tasks, one per lane and those of kinds that run beside their lane, and records how each ended. */
export interface LaneRunner {
  /** Starts the runner. */
  start(): void;
  /** Looks for tasks that can start; cheap, and safe to call at any time. */
  wake(): void;
  /** The run of a task, or `null` when it does not run now. */
  run(taskId: string): TaskRun | null;
  /** How the progress of the last run of a task went; empty when it is no longer known. */
  course(taskId: string): readonly CoursePhase[];
  /** Starts no more tasks, asks every run to stop, and waits for them for at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

interface RunningTask {
  readonly kind: string;
  /** `null` for a task beside its lane. */
  readonly lane: TaskLane | null;
  readonly run: TaskRun;
  readonly ended: Promise<void>;
}

/** Lanes whose tasks the runner starts; `admin` tasks run inside their request. */
const LANES: readonly TaskLane[] = ['release', 'verify', 'repair', 'parse', 'i18n'];
/** Maximum sleep, because the wall clock may be changed meanwhile. */
const MAX_TIMER_MS = 60_000;

/** Creates a runner. It starts no task before `start`. */
export function createLaneRunner(options: LaneRunnerOptions): LaneRunner {
  const { repository, jobs, clock, logger } = options;
  const execution = createTaskExecution(options);
  const lock = createStoreLock();
  const running = new Map<string, RunningTask>();
  let timer = new AbortController();
  let woken = false;
  let [started, stopping] = [false, false];

  const wake = (): void => {
    if (woken || stopping || !started) return;
    woken = true;
    // Deferred, so that a submission is answered with the queued row before its task begins, and outside of its trace.
    queueMicrotask(() => {
      woken = false;
      withTrace(null, startDue);
    });
  };

  const wakeAfter = (ms: number): void => {
    timer.abort();
    timer = new AbortController();
    // This sleep rejects only when the timer is set again or the runner stops.
    clock.sleep(ms, timer.signal).then(wake, () => undefined);
  };

  const startDue = (): void => {
    if (stopping) return;
    try {
      const nowMs = clock.now();
      hastenDistant(repository, nowMs);
      for (const head of chooseStarts(laneHeads(options, [...running.values()], nowMs), lock.state())) {
        start(head);
        // The next task of the same kind may start, too.
        if (head.lane === null) wake();
      }
      const next = repository.nextRunAtMs(nowMs);
      if (next !== null) wakeAfter(Math.min(Math.max(next - nowMs, 1), MAX_TIMER_MS));
    } catch (error) {
      logger.error({ err: error }, 'the next task could not be started; retrying soon');
      wakeAfter(DATABASE_RETRY_MS);
    }
  };

  const start = ({ taskId, lane, storeLock }: LaneHead): void => {
    const task = repository.begin(taskId, options.bootId, unixSeconds(clock));
    const job = jobs.find(task.kind);
    if (job === null) throw new Error(`no job is named ${task.kind}`);
    const release = lock.acquire(storeLock);
    const run = execution.prepare(task);
    const execute = async (): Promise<void> => await execution.execute(task, job, run);
    const ended = withTrace(repository.traceOf(taskId), execute).finally(() => {
      release();
      running.delete(taskId);
      wake();
    });
    running.set(taskId, { kind: task.kind, lane, run, ended });
  };

  return {
    start: () => {
      started = true;
      wake();
    },
    wake,
    run: (taskId) => running.get(taskId)?.run ?? null,
    course: (taskId) => execution.course(taskId),
    stop: async (graceMs) => {
      stopping = true;
      timer.abort();
      const runs = [...running.values()];
      for (const { run } of runs) run.interrupt('stop');
      const inTime = await endWithin(
        clock,
        runs.map(({ ended }) => ended),
        graceMs,
      );
      execution.abandon();
      options.log.flush();
      const tasks = [...running.keys()];
      if (!inTime) logger.warn({ tasks }, 'tasks did not stop in time; they are recovered at the next start');
    },
  };
}

/** No task waits so long: one that would was stored while the wall clock was ahead, which has been set back since. */
function hastenDistant(repository: TaskRepository, nowMs: number): void {
  const latestMs = nowMs + RETRY_AFTER_MAX_MS;
  if (repository.nextRunAtMs(latestMs) !== null) repository.hasten(latestMs, nowMs);
}

/** The next due task of every idle lane, and of every kind beside the lanes of which another one may run. */
function laneHeads(
  { repository, jobs }: LaneRunnerOptions,
  running: readonly RunningTask[],
  nowMs: number,
): LaneHead[] {
  const parallel = jobs.parallel();
  const beside = parallel.map(({ job }) => job.kind);
  const head = (due: DueTask | null, lane: TaskLane | null): LaneHead[] => {
    const job = due === null ? null : jobs.find(due.kind);
    if (due === null || job === null) return [];
    return [{ taskId: due.taskId, lane, seq: due.seq, storeLock: job.storeLock }];
  };
  const inLanes = LANES.filter((lane) => !running.some((task) => task.lane === lane));
  const kinds = parallel.filter(
    ({ job, most }) => running.filter(({ kind }) => kind === job.kind).length < most,
  );
  return [
    ...inLanes.flatMap((lane) => head(repository.nextDue(lane, nowMs, beside), lane)),
    ...kinds.flatMap(({ job }) => head(repository.nextDueOfKind(job.kind, nowMs), null)),
  ];
}

/** Waits for runs to end. @returns whether all ended within `graceMs` */
async function endWithin(clock: Clock, ended: readonly Promise<void>[], graceMs: number): Promise<boolean> {
  const grace = new AbortController();
  const inTime = await Promise.race([
    Promise.allSettled(ended).then(() => true),
    clock.sleep(graceMs, grace.signal).then(
      () => false,
      () => true,
    ),
  ]);
  grace.abort();
  return inTime;
}

/** The lock on the snapshot store across lanes: many shared holders or one exclusive holder. */
interface StoreLock {
  state(): StoreLockState;
  /**
   * Acquires the lock.
   *
   * @returns a function that releases it; further calls do nothing
   * @throws Error when the lock is not available now; check `state` first
   */
  acquire(mode: JobDefinition['storeLock']): () => void;
}

/** Creates a free lock. */
export function createStoreLock(): StoreLock {
  let shared = 0;
  let exclusive = false;
  return {
    state: () => ({ shared, exclusive }),
    acquire: (mode) => {
      if (mode !== 'none' && (exclusive || (mode === 'exclusive' && shared > 0))) {
        throw new Error(
          `the store lock cannot be acquired (${mode}): ${shared} share it, exclusive: ${exclusive}`,
        );
      }
      if (mode === 'shared') shared += 1;
      if (mode === 'exclusive') exclusive = true;
      let released = false;
      return () => {
        if (released) return;
        released = true;
        if (mode === 'shared') shared -= 1;
        if (mode === 'exclusive') exclusive = false;
      };
    },
  };
}

/** A task that may start: the next one of an idle lane, or of a kind that runs beside its lane. */
interface LaneHead {
  readonly taskId: string;
  /** The lane that the task occupies; `null` for a task beside its lane. */
  readonly lane: TaskLane | null;
  /** The order in which tasks were accepted. */
  readonly seq: number;
  readonly storeLock: JobDefinition['storeLock'];
}

/** The tasks that hold the lock on the snapshot store. */
interface StoreLockState {
  readonly shared: number;
  readonly exclusive: boolean;
}

/**
 * Chooses which heads of idle lanes can start beside the running tasks. Earlier tasks start first. While a task waits
 * for the exclusive lock, later tasks that would share it do not start.
 *
 * @param heads at most one for each idle lane and each kind beside the lanes
 * @param held the current holders of the store
 * @returns the heads to start, in order
 */
function chooseStarts(heads: readonly LaneHead[], held: StoreLockState): readonly LaneHead[] {
  let { shared, exclusive } = held;
  let exclusiveWaits = false;
  const chosen: LaneHead[] = [];
  for (const head of heads.toSorted((left, right) => left.seq - right.seq)) {
    if (head.storeLock === 'none') {
      chosen.push(head);
    } else if (head.storeLock === 'shared' && !exclusive && !exclusiveWaits) {
      shared += 1;
      chosen.push(head);
    } else if (head.storeLock === 'exclusive' && !exclusive && shared === 0 && !exclusiveWaits) {
      exclusive = true;
      chosen.push(head);
    } else if (head.storeLock === 'exclusive') {
      exclusiveWaits = true;
    }
  }
  return chosen;
}
