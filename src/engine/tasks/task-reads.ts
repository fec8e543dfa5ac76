import { TASK_STATUSES } from '../../contract/schemas/vocabulary.ts';
import { CLOCK_SKEW_SECONDS } from '../../domain/verdict/attestation.ts';
import { restoreTrace, type Trace } from '../../platform/logging/trace.ts';
import type { Database } from '../database/sqlite-database.ts';
import { taskOf, type StoredTask } from './stored-task.ts';
import type { TaskStatus, Task, TaskLane } from './task.ts';

/** How the tasks of one kind went, and what is planned. */
export interface KindHistory {
  /** The task that ended last. */
  readonly last: Task | null;
  /** Failed tasks since the last success. */
  readonly consecutiveFailures: number;
  /** When the first of these failures ended, Unix seconds. */
  readonly failingSince: number | null;
  /** When the last success ended, Unix seconds. */
  readonly succeededAt: number | null;
  /** When the next queued task may start, Unix seconds. */
  readonly nextRunAt: number | null;
  /** The code with which an attempt of the newest task failed that waits or runs; `null` when none did. */
  readonly retriedCode: string | null;
}

/** A task that may start. */
export interface DueTask {
  readonly taskId: string;
  readonly kind: string;
  /** The order in which tasks were accepted. */
  readonly seq: number;
}

/** Reads of the task table. */
export interface TaskReads {
  get(taskId: string): Task | null;
  /** The queued or running task with this key, if any. */
  findLive(dedupeKey: string): Task | null;
  /** The trace of the request that queued a task; `null` when it had none. */
  traceOf(taskId: string): Trace | null;
  list(limit: number): readonly Task[];
  /** Every task that runs or is asked to stop, oldest first. */
  running(): readonly Task[];
  counts(): Readonly<Record<TaskStatus, number>>;
  /** The next task of a lane at `nowMs`, the kinds aside that do not take turns. */
  nextDue(lane: TaskLane, nowMs: number, exceptKinds: readonly string[]): DueTask | null;
  /** The next task of a kind at `nowMs`. */
  nextDueOfKind(kind: string, nowMs: number): DueTask | null;
  /** When the next waiting task after `nowMs` is due, Unix milliseconds. */
  nextRunAtMs(nowMs: number): number | null;
  /** Tasks that another boot left running. */
  leftRunning(bootId: string): readonly StoredTask[];
  /** Whether a task of this schedule is queued, running or asked to stop. */
  isScheduleActive(scheduleId: string): boolean;
  /** @param now Unix seconds; an end that lies in the future counts as the last one only when there is no other */
  historyOf(kind: string, now: number): KindHistory;
  /** When the oldest running task of this kind started, Unix seconds; `null` when none runs. */
  runningSince(kind: string): number | null;
  /** The tasks that wait in each lane, and when the oldest of them could have started, Unix milliseconds; lanes without one are absent. */
  queues(): ReadonlyArray<{ readonly lane: TaskLane; readonly count: number; readonly oldest_ms: number }>;
  /** Every queued task, oldest first. */
  waiting(): ReadonlyArray<{ readonly task_id: string; readonly kind: string }>;
}

/** Creates the reads of the repository; every statement is compiled once. */
export function createTaskReads(database: Database): TaskReads {
  const get = database.prepare('SELECT * FROM task WHERE task_id = :task_id');
  const trace = database.prepare('SELECT traceparent, tracestate FROM task WHERE task_id = :task_id');
  const findLive = database.prepare(
    `SELECT * FROM task WHERE dedupe_key = :dedupe_key AND status IN ('queued', 'running') ORDER BY seq LIMIT 1`,
  );
  const list = database.prepare('SELECT * FROM task ORDER BY seq DESC LIMIT :limit');
  const running = database.prepare(
    `SELECT * FROM task WHERE status IN ('running', 'cancelling') ORDER BY seq`,
  );
  const counts = database.prepare('SELECT status, count(*) AS count FROM task GROUP BY status');
  const nextDue = database.prepare(
    `SELECT task_id, kind, seq FROM task WHERE lane = :lane AND status = 'queued' AND run_at_ms <= :now_ms
     AND kind NOT IN (SELECT value FROM json_each(:except_kinds)) ORDER BY seq LIMIT 1`,
  );
  const nextDueOfKind = database.prepare(
    `SELECT task_id, kind, seq FROM task WHERE kind = :kind AND status = 'queued' AND run_at_ms <= :now_ms
     ORDER BY seq LIMIT 1`,
  );
  const nextRunAt = database.prepare(
    `SELECT min(run_at_ms) AS run_at_ms FROM task WHERE status = 'queued' AND run_at_ms > :now_ms`,
  );
  const leftRunning = database.prepare(
    `SELECT * FROM task WHERE status IN ('running', 'cancelling') AND boot_id IS NOT :boot_id ORDER BY seq`,
  );
  const activeOfSchedule = database.prepare(
    `SELECT 1 FROM task WHERE schedule_id = :schedule_id AND status IN ('queued', 'running', 'cancelling') LIMIT 1`,
  );
  const historyOf = createHistoryRead(database);
  const queues = database.prepare(
    `SELECT lane, count(*) AS count, min(run_at_ms) AS oldest_ms FROM task WHERE status = 'queued' GROUP BY lane`,
  );
  const runningSince = database.prepare(
    `SELECT min(started_at) AS since FROM task WHERE kind = :kind AND status IN ('running', 'cancelling')`,
  );
  const waiting = database.prepare(`SELECT task_id, kind FROM task WHERE status = 'queued' ORDER BY seq`);
  return {
    get: (taskId) => taskOrNull(get.get({ task_id: taskId })),
    findLive: (dedupeKey) => taskOrNull(findLive.get({ dedupe_key: dedupeKey })),
    traceOf: (taskId) => {
      const { traceparent, tracestate } = trace.get({ task_id: taskId }) ?? {};
      return restoreTrace({ traceparent: textOf(traceparent), tracestate: textOf(tracestate) });
    },
    list: (limit) => (list.all({ limit }) as unknown as StoredTask[]).map(taskOf),
    running: () => (running.all() as unknown as StoredTask[]).map(taskOf),
    counts: () => {
      const found = Object.fromEntries(TASK_STATUSES.map((status) => [status, 0])) as Record<
        TaskStatus,
        number
      >;
      for (const row of counts.all() as unknown as Array<{ status: TaskStatus; count: number }>) {
        found[row.status] = row.count;
      }
      return found;
    },
    nextDue: (lane, nowMs, exceptKinds) =>
      dueOf(nextDue.get({ lane, now_ms: nowMs, except_kinds: JSON.stringify(exceptKinds) })),
    nextDueOfKind: (kind, nowMs) => dueOf(nextDueOfKind.get({ kind, now_ms: nowMs })),
    nextRunAtMs: (nowMs) => {
      const row = nextRunAt.get({ now_ms: nowMs }) as { run_at_ms: number | null } | undefined;
      return row?.run_at_ms ?? null;
    },
    leftRunning: (bootId) => leftRunning.all({ boot_id: bootId }) as unknown as StoredTask[],
    isScheduleActive: (scheduleId) => activeOfSchedule.get({ schedule_id: scheduleId }) !== undefined,
    historyOf,
    runningSince: (kind) => (runningSince.get({ kind })?.['since'] as number | null | undefined) ?? null,
    queues: () => queues.all() as unknown as ReturnType<TaskReads['queues']>,
    waiting: () => waiting.all() as unknown as Array<{ task_id: string; kind: string }>,
  };
}

function createHistoryRead(database: Database): TaskReads['historyOf'] {
  // The conditions are read every second. Without these orders SQLite reads and sorts every task of the last two weeks.
  const last = database.prepare(
    `SELECT * FROM task INDEXED BY task_ended WHERE kind = :kind AND status IN ('succeeded', 'failed', 'cancelled')
     AND finished_at <= :latest ORDER BY finished_at DESC, seq DESC LIMIT 1`,
  );
  const lastOf = (kind: string, now: number): Task | null =>
    taskOrNull(
      last.get({ kind, latest: now + CLOCK_SKEW_SECONDS }) ??
        last.get({ kind, latest: Number.MAX_SAFE_INTEGER }),
    );
  const failures = database.prepare(
    `SELECT count(*) AS count, min(finished_at) AS since FROM task WHERE kind = :kind AND status = 'failed'
     AND seq > coalesce((SELECT max(seq) FROM task WHERE kind = :kind AND status = 'succeeded'), 0)`,
  );
  const success = database.prepare(
    `SELECT finished_at AS at FROM task WHERE kind = :kind AND status = 'succeeded' ORDER BY seq DESC LIMIT 1`,
  );
  const next = database.prepare(
    `SELECT min(run_at_ms) AS run_at_ms FROM task WHERE kind = :kind AND status = 'queued'`,
  );
  const retried = database.prepare(
    `SELECT failure_code AS code FROM task WHERE kind = :kind AND status IN ('queued', 'running') ORDER BY seq DESC LIMIT 1`,
  );
  return (kind, now) => {
    const { count = 0, since = null } = failures.get({ kind }) ?? {};
    const runAtMs = next.get({ kind })?.['run_at_ms'] ?? null;
    return {
      last: lastOf(kind, now),
      consecutiveFailures: Number(count),
      failingSince: since === null ? null : Number(since),
      succeededAt: (success.get({ kind })?.['at'] as number | null | undefined) ?? null,
      nextRunAt: runAtMs === null ? null : Math.floor(Number(runAtMs) / 1000),
      retriedCode: textOf(retried.get({ kind })?.['code']) ?? null,
    };
  };
}

function taskOrNull(row: object | undefined): Task | null {
  return row === undefined ? null : taskOf(row as StoredTask);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function dueOf(row: unknown): DueTask | null {
  if (row === undefined) return null;
  const { task_id: taskId, kind, seq } = row as { task_id: string; kind: string; seq: number };
  return { taskId, kind, seq };
}
