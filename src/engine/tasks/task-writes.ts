import type { Statement } from '../database/checked-rows.ts';
import type { Task, TaskArguments, TaskLane, TaskProgress, TaskResult } from './task.ts';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import type { traceHeaders } from '../../platform/logging/trace.ts';
import type { Database } from '../database/sqlite-database.ts';
import { taskOf, type StoredTask } from './stored-task.ts';
import { createTaskReads, type TaskReads } from './task-reads.ts';

/** The fields of a new task. */
interface NewTask {
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
  /** The trace that the task belongs to. */
  readonly trace: ReturnType<typeof traceHeaders>;
}

/** How a task ended. */
export interface TaskEnding {
  readonly status: 'succeeded' | 'failed' | 'cancelled';
  readonly result: TaskResult | null;
  readonly failureCode: string | null;
  readonly failureReason: string | null;
}

/** How a task is queued again. */
interface TaskRequeue {
  readonly runAtMs: number;
  /** False when the daemon itself interrupted the attempt. */
  readonly attemptCounts: boolean;
  /** Whether an earlier process died while the task ran. */
  readonly recovered: boolean;
  readonly failureCode: string | null;
  readonly failureReason: string | null;
}

/** Writes of the task table. */
interface TaskWrites {
  insert(task: NewTask): Task;
  begin(taskId: string, bootId: string, now: number): Task;
  /** Records that a task was asked to stop; a running one becomes `cancelling`. */
  requestCancel(taskId: string, now: number, reason: string | null): void;
  end(taskId: string, ending: TaskEnding, now: number): Task;
  requeue(taskId: string, requeue: TaskRequeue): void;
  /** Makes the tasks due at `nowMs` that wait until after `latestMs`. */
  hasten(latestMs: number, nowMs: number): void;
  writeProgress(taskId: string, progress: TaskProgress, now: number): void;
}

const INSERT = `INSERT INTO task (task_id, kind, lane, status, args_json, dedupe_key, attempt, max_attempts, run_at_ms,
    created_at, started_at, heartbeat_at, boot_id, schedule_id, reviewer, reason, correlation_id, traceparent,
    tracestate)
  VALUES (:task_id, :kind, :lane, :status, :args_json, :dedupe_key, :attempt, :max_attempts, :run_at_ms, :created_at,
    :started_at, :started_at, :boot_id, :schedule_id, :reviewer, :reason, :correlation_id, :traceparent, :tracestate) RETURNING *`;
const BEGIN = `UPDATE task SET status = 'running', attempt = attempt + 1, started_at = :now, heartbeat_at = :now,
    boot_id = :boot_id
  WHERE task_id = :task_id AND status = 'queued' RETURNING *`;
const REQUEST_CANCEL = `UPDATE task SET status = iif(status = 'running', 'cancelling', status),
    cancel_requested_at = :now, cancel_reason = :reason
  WHERE task_id = :task_id AND status IN ('queued', 'running')`;
const END = `UPDATE task SET status = :status, finished_at = :now, heartbeat_at = :now, result_json = :result_json,
    failure_code = :failure_code, failure_reason = :failure_reason
  WHERE task_id = :task_id RETURNING *`;
const REQUEUE = `UPDATE task SET status = 'queued', run_at_ms = :run_at_ms, attempt = max(0, attempt - :undone),
    recoveries = recoveries + :recovered, failure_code = coalesce(:failure_code, failure_code),
    failure_reason = coalesce(:failure_reason, failure_reason)
  WHERE task_id = :task_id`;
const HASTEN = `UPDATE task SET run_at_ms = :now_ms WHERE status = 'queued' AND run_at_ms > :latest_ms`;
const PROGRESS = `UPDATE task SET progress_done = :done, progress_total = :total, progress_unit = :unit,
    progress_phase = :phase, heartbeat_at = :now
  WHERE task_id = :task_id`;

/** Creates the writes of the repository; every statement is compiled once. */
function createTaskWrites(database: Database): TaskWrites {
  const insert = database.prepare(INSERT);
  const begin = database.prepare(BEGIN);
  const requestCancel = database.prepare(REQUEST_CANCEL);
  const end = database.prepare(END);
  const requeue = database.prepare(REQUEUE);
  const hasten = database.prepare(HASTEN);
  const progress = database.prepare(PROGRESS);
  return {
    insert: (task) => {
      const createdAt = Math.floor(task.nowMs / 1000);
      const running = task.status === 'running';
      return changed(insert, task.status, {
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
        traceparent: task.trace.traceparent ?? null,
        tracestate: task.trace.tracestate ?? null,
      });
    },
    begin: (taskId, bootId, now) => changed(begin, 'running', { task_id: taskId, boot_id: bootId, now }),
    requestCancel: (taskId, now, reason) => void requestCancel.run({ task_id: taskId, now, reason }),
    end: (taskId, ending, now) =>
      changed(end, ending.status, {
        task_id: taskId,
        status: ending.status,
        now,
        result_json: ending.result === null ? null : stringifyJsonExact(ending.result),
        failure_code: ending.failureCode,
        failure_reason: ending.failureReason,
      }),
    requeue: (taskId, { runAtMs, attemptCounts, recovered, failureCode, failureReason }) =>
      void requeue.run({
        task_id: taskId,
        run_at_ms: runAtMs,
        undone: attemptCounts ? 0 : 1,
        recovered: recovered ? 1 : 0,
        failure_code: failureCode,
        failure_reason: failureReason,
      }),
    hasten: (latestMs, nowMs) => void hasten.run({ latest_ms: latestMs, now_ms: nowMs }),
    writeProgress: (taskId, { done, total, unit, phase }, now) => {
      // A commit waits up to a second for a busy disk, and the event loop would wait with it. An attempt starts its progress again.
      database.transaction(() => progress.run({ task_id: taskId, done, total, unit, phase, now }), {
        durable: false,
      });
    },
  };
}

/** Returns the row that a statement changed. Throws when it changed none. */
function changed(
  statement: Statement,
  to: string,
  parameters: Readonly<Record<string, string | number | null>>,
): Task {
  const row = statement.get({ ...parameters });
  if (row === undefined) {
    throw new Error(`task ${String(parameters['task_id'])} cannot become ${to} from its current state`);
  }
  return taskOf(row as unknown as StoredTask);
}

/** The task table. Times are Unix seconds unless named otherwise. */
export interface TaskRepository extends TaskReads, TaskWrites {}

/** Creates the repository. */
export function createTaskRepository(database: Database): TaskRepository {
  return { ...createTaskReads(database), ...createTaskWrites(database) };
}
