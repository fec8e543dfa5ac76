import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import type { TASK_LANES, TASK_STATUSES } from '../../contract/schemas/vocabulary.ts';
import { createHash } from 'node:crypto';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';

/** The state of a task, as the contract names it. `cancelling` is a running task that was asked to stop. */
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** Each lane runs one task at a time; `admin` tasks run inside their request. */
export type TaskLane = (typeof TASK_LANES)[number];

/** Stored arguments of a task. JSON, int64 as bigint. */
export type TaskArguments = Readonly<Record<string, unknown>>;

/** The result of a successful task; JSON. */
export type TaskResult = Readonly<Record<string, unknown>>;

/** The arguments and tools that a handler gets. */
export interface TaskContext<Arguments = TaskArguments> {
  readonly taskId: string;
  readonly kind: string;
  readonly args: Arguments;
  /** The person who stands for the task; `null` when nobody is named. */
  readonly reviewer: string | null;
  readonly reason: string | null;
  /** 1 for the first run. */
  readonly attempt: number;
  /** Aborted when the task is cancelled or the daemon stops. Handlers must pass it to every await. */
  readonly signal: AbortSignal;
  /** Adds a line to the task's log. */
  log(
    level: 'debug' | 'info' | 'warn' | 'error',
    message: string,
    fields?: Readonly<Record<string, unknown>>,
  ): void;
  /** Reports progress; cheap to call often, written at most a few times a second. */
  progress(
    done: number,
    total: number | null,
    unit: 'bytes' | 'entries' | 'steps' | 'units' | 'tasks',
    phase: string,
  ): void;
  /** Runs a section that cancellation must not interrupt (the pointer switch). */
  commit<T>(section: () => Promise<T>): Promise<T>;
}

/** An expected failure of a task. */
export class TaskError extends Error {
  /** In snake_case; reported as the task's `failure_code`. */
  readonly code: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
  /** Whether the task only waits for the end of other tasks: it is retried, and the attempt does not count. */
  readonly waits: boolean;
  /** Machine-readable details for the task's result. */
  readonly details: TaskResult;

  constructor(
    code: string,
    message: string,
    options: {
      readonly retryable?: boolean;
      readonly retryAfterMs?: number | null;
      readonly waits?: boolean;
      readonly details?: TaskResult;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TaskError';
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.waits = options.waits ?? false;
    this.details = options.details ?? {};
  }
}

/** A task as the engine and the reports represent it. Times are Unix seconds. */
export type Task = ReportBodyOf<'task.status'>['task'];

/** A task that runs inside its request. */
export interface InlineSubmission {
  readonly kind: string;
  readonly args: TaskArguments;
  readonly reviewer?: string;
  readonly reason?: string;
  readonly idempotencyKey?: string;
  readonly scheduleId?: string;
  readonly correlationId?: string;
}

/** A task of a job. */
export interface TaskSubmission extends InlineSubmission {
  /** Whether an equal task (kind and arguments) that is queued or running is returned instead of a new one. */
  readonly dedupe: boolean;
}

/** An accepted task: a new one, or the existing one that the request repeats. */
export interface AcceptedTask {
  readonly task: Task;
  readonly deduplicated: boolean;
}

/** Progress as stored in the row. */
export type TaskProgress = NonNullable<Task['progress']>;

/**
 * The key of a task's work: two tasks of equal kind and equal arguments have the same key, in any order of their
 * members.
 *
 * @returns the kind and the SHA-256 of the canonical arguments
 */
export function taskDedupeKey(kind: string, args: TaskArguments): string {
  return `${kind}:${sha256(stringifyJsonExact(canonical(args)))}`;
}

/** The stored form of an idempotency key. Clients choose keys freely, and a key may contain a secret. */
export function idempotencyDigest(key: string): string {
  return sha256(key);
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, canonical(member)]));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
