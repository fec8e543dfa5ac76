import { TASK_STATUSES } from '../../contract/schemas/vocabulary.ts';
import type { StatementSync } from 'node:sqlite';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { TaskRow } from './task-engine.ts';
import { taskOfRecord, type TaskRecord } from './task-record.ts';
import type { TaskProgress } from './task-run.ts';
import { type TaskArguments, type TaskLane, type TaskResult, type TaskStatus } from './task.ts';

/** A task as it is accepted. */
export interface NewTask {
  readonly taskId: string;
  readonly kind: string;
  readonly lane: TaskLane;
  readonly status: 'queued' | 'running';
  readonly args: TaskArguments;
  readonly dedupeKey: string;
  readonly maxAttempts: number;
  /** Wall clock, Unix milliseconds. */
  readonly nowMs: number;
  readonly bootId: string;
  readonly scheduleId: string | null;
  readonly reviewer: string | null;
  readonly reason: string | null;
  readonly correlationId: string | null;
}

/** How a task ended. */
export interface TaskEnding {
  readonly status: 'succeeded' | 'failed' | 'cancelled';
  readonly result: TaskResult | null;
  readonly failureCode: string | null;
  readonly failureReason: string | null;
}

/** How a task goes back into its queue. */
export interface TaskRequeue {
  readonly runAtMs: number;
  /** False when the attempt was cut short by the daemon itself. */
  readonly attemptCounts: boolean;
  /** Whether an earlier process died under it. */
  readonly recovered: boolean;
  readonly failureCode: string | null;
  readonly failureReason: string | null;
}

/** The task table. Times are Unix seconds where not named otherwise. */
export interface TaskRepository {
  insert(task: NewTask): TaskRow;
  get(taskId: string): TaskRow | null;
  /** The queued or running task with this key, if any. */
  findLive(dedupeKey: string): TaskRow | null;
  list(limit: number): readonly TaskRow[];
  counts(): Readonly<Record<TaskStatus, number>>;
  /** The task that is next in a lane at `nowMs`. */
  nextDue(
    lane: TaskLane,
    nowMs: number,
  ): { readonly taskId: string; readonly kind: string; readonly seq: number } | null;
  /** When the next waiting task after `nowMs` is due, Unix milliseconds. */
  nextRunAtMs(nowMs: number): number | null;
  begin(taskId: string, bootId: string, now: number): TaskRow;
  /** Notes that a task was asked to stop; a running one is `cancelling` from then on. */
  requestCancel(taskId: string, now: number, reason: string | null): void;
  end(taskId: string, ending: TaskEnding, now: number): TaskRow;
  requeue(taskId: string, requeue: TaskRequeue): void;
  writeProgress(taskId: string, progress: TaskProgress, now: number): void;
  /** Tasks that another boot left running. */
  leftRunning(bootId: string): readonly TaskRecord[];
  /** Whether a task of this schedule is queued, running or asked to stop. */
  isScheduleActive(scheduleId: string): boolean;
  /** Every queued task, oldest first. */
  waiting(): ReadonlyArray<{ readonly task_id: string; readonly kind: string }>;
}

const LIVE = `status IN ('queued', 'running')`;

/** Creates the repository; every statement is compiled once. */
export function createTaskRepository(database: Database): TaskRepository {
  const insert = database.prepare(
    `INSERT INTO task (task_id, kind, lane, status, args_json, dedupe_key, attempt, max_attempts, run_at_ms, created_at,
       started_at, heartbeat_at, boot_id, schedule_id, reviewer, reason, correlation_id)
     VALUES (:task_id, :kind, :lane, :status, :args_json, :dedupe_key, :attempt, :max_attempts, :run_at_ms, :created_at,
       :started_at, :started_at, :boot_id, :schedule_id, :reviewer, :reason, :correlation_id) RETURNING *`,
  );
  const get = database.prepare('SELECT * FROM task WHERE task_id = :task_id');
  const findLive = database.prepare(
    `SELECT * FROM task WHERE dedupe_key = :dedupe_key AND ${LIVE} ORDER BY seq LIMIT 1`,
  );
  const list = database.prepare('SELECT * FROM task ORDER BY seq DESC LIMIT :limit');
  const counts = database.prepare('SELECT status, count(*) AS count FROM task GROUP BY status');
  const nextDue = database.prepare(
    `SELECT task_id, kind, seq FROM task WHERE lane = :lane AND status = 'queued' AND run_at_ms <= :now_ms
     ORDER BY seq LIMIT 1`,
  );
  const nextRunAt = database.prepare(
    `SELECT min(run_at_ms) AS run_at_ms FROM task WHERE status = 'queued' AND run_at_ms > :now_ms`,
  );
  const begin = database.prepare(
    `UPDATE task SET status = 'running', attempt = attempt + 1, started_at = :now, heartbeat_at = :now, boot_id = :boot_id
     WHERE task_id = :task_id AND status = 'queued' RETURNING *`,
  );
  const requestCancel = database.prepare(
    `UPDATE task SET status = iif(status = 'running', 'cancelling', status), cancel_requested_at = :now,
       cancel_reason = :reason WHERE task_id = :task_id AND ${LIVE}`,
  );
  const end = database.prepare(
    `UPDATE task SET status = :status, finished_at = :now, heartbeat_at = :now, result_json = :result_json,
       failure_code = :failure_code, failure_reason = :failure_reason WHERE task_id = :task_id RETURNING *`,
  );
  const requeue = database.prepare(
    `UPDATE task SET status = 'queued', run_at_ms = :run_at_ms, attempt = max(0, attempt - :undone),
       recoveries = recoveries + :recovered, failure_code = coalesce(:failure_code, failure_code),
       failure_reason = coalesce(:failure_reason, failure_reason) WHERE task_id = :task_id`,
  );
  const progress = database.prepare(
    `UPDATE task SET progress_done = :done, progress_total = :total, progress_unit = :unit, progress_phase = :phase,
       heartbeat_at = :now WHERE task_id = :task_id`,
  );
  const leftRunning = database.prepare(
    `SELECT * FROM task WHERE status IN ('running', 'cancelling') AND boot_id IS NOT :boot_id ORDER BY seq`,
  );
  const activeOfSchedule = database.prepare(
    `SELECT 1 FROM task WHERE schedule_id = :schedule_id AND status IN ('queued', 'running', 'cancelling') LIMIT 1`,
  );
  const waiting = database.prepare(`SELECT task_id, kind FROM task WHERE status = 'queued' ORDER BY seq`);

  const one = (statement: StatementSync, parameters: Parameters<StatementSync['get']>[0]): TaskRow | null => {
    const record = statement.get(parameters as Record<string, string>);
    return record === undefined ? null : taskOfRecord(record as unknown as TaskRecord);
  };
  const changed = (row: TaskRow | null, taskId: string, to: string): TaskRow => {
    if (row === null) throw new Error(`task ${taskId} cannot become ${to}: it is not in the state for that`);
    return row;
  };

  return {
    insert: (task) => {
      const createdAt = Math.floor(task.nowMs / 1000);
      const running = task.status === 'running';
      const row = one(insert, {
        task_id: task.taskId,
        kind: task.kind,
        lane: task.lane,
        status: task.status,
        args_json: stringifyJsonExact(task.args),
        dedupe_key: task.dedupeKey,
        attempt: running ? 1 : 0,
        max_attempts: task.maxAttempts,
        run_at_ms: task.nowMs,
        created_at: createdAt,
        started_at: running ? createdAt : null,
        boot_id: running ? task.bootId : null,
        schedule_id: task.scheduleId,
        reviewer: task.reviewer,
        reason: task.reason,
        correlation_id: task.correlationId,
      });
      return changed(row, task.taskId, task.status);
    },
    get: (taskId) => one(get, { task_id: taskId }),
    findLive: (dedupeKey) => one(findLive, { dedupe_key: dedupeKey }),
    list: (limit) => (list.all({ limit }) as unknown as TaskRecord[]).map(taskOfRecord),
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
    nextDue: (lane, nowMs) => {
      const row = nextDue.get({ lane, now_ms: nowMs }) as
        | { task_id: string; kind: string; seq: number }
        | undefined;
      return row === undefined ? null : { taskId: row.task_id, kind: row.kind, seq: row.seq };
    },
    nextRunAtMs: (nowMs) => {
      const row = nextRunAt.get({ now_ms: nowMs }) as { run_at_ms: number | null } | undefined;
      return row?.run_at_ms ?? null;
    },
    begin: (taskId, bootId, now) =>
      changed(one(begin, { task_id: taskId, boot_id: bootId, now }), taskId, 'running'),
    requestCancel: (taskId, now, reason) => {
      requestCancel.run({ task_id: taskId, now, reason });
    },
    end: (taskId, ending, now) => {
      const row = one(end, {
        task_id: taskId,
        status: ending.status,
        now,
        result_json: ending.result === null ? null : stringifyJsonExact(ending.result),
        failure_code: ending.failureCode,
        failure_reason: ending.failureReason,
      });
      return changed(row, taskId, ending.status);
    },
    requeue: (taskId, { runAtMs, attemptCounts, recovered, failureCode, failureReason }) => {
      requeue.run({
        task_id: taskId,
        run_at_ms: runAtMs,
        undone: attemptCounts ? 0 : 1,
        recovered: recovered ? 1 : 0,
        failure_code: failureCode,
        failure_reason: failureReason,
      });
    },
    writeProgress: (taskId, { done, total, unit, phase }, now) => {
      progress.run({ task_id: taskId, done, total, unit, phase, now });
    },
    leftRunning: (bootId) => leftRunning.all({ boot_id: bootId }) as unknown as TaskRecord[],
    isScheduleActive: (scheduleId) => activeOfSchedule.get({ schedule_id: scheduleId }) !== undefined,
    waiting: () => waiting.all() as unknown as Array<{ task_id: string; kind: string }>,
  };
}
