import { parseJsonExact } from '../../contract/json/json-exact.ts';
import type { Task, TaskArguments, TaskResult } from './task.ts';

/** A row of the table `task`. */
export interface StoredTask extends Omit<Task, 'args' | 'run_at' | 'progress' | 'result'> {
  readonly seq: number;
  readonly args_json: string;
  readonly recoveries: number;
  readonly run_at_ms: number;
  readonly progress_done: number | null;
  readonly progress_total: number | null;
  readonly progress_unit: string | null;
  readonly progress_phase: string | null;
  readonly result_json: string | null;
}

/** Converts a row of the table to the task. */
export function taskOf(record: StoredTask): Task {
  return {
    task_id: record.task_id,
    kind: record.kind,
    lane: record.lane,
    status: record.status,
    args: parseJsonExact(record.args_json) as TaskArguments,
    attempt: record.attempt,
    max_attempts: record.max_attempts,
    run_at: Math.floor(record.run_at_ms / 1000),
    created_at: record.created_at,
    started_at: record.started_at,
    finished_at: record.finished_at,
    cancel_requested_at: record.cancel_requested_at,
    cancel_reason: record.cancel_reason,
    progress: progressOf(record),
    result: record.result_json === null ? null : (parseJsonExact(record.result_json) as TaskResult),
    failure_code: record.failure_code,
    failure_reason: record.failure_reason,
    schedule_id: record.schedule_id,
    reviewer: record.reviewer,
    reason: record.reason,
    correlation_id: record.correlation_id,
  };
}

function progressOf(record: StoredTask): Task['progress'] {
  if (record.progress_done === null) return null;
  return {
    done: record.progress_done,
    total: record.progress_total,
    unit: record.progress_unit ?? '',
    phase: record.progress_phase ?? '',
  };
}
