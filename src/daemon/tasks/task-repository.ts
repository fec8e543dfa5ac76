import type { Database } from '../database/sqlite-database.ts';
import type { Task } from './task-engine.ts';
import type { StoredTask } from './stored-task.ts';
import { createTaskReads } from './task-reads.ts';
import type { TaskProgress } from './task-run.ts';
import { createTaskWrites } from './task-writes.ts';
import type { TaskArguments, TaskLane, TaskResult, TaskStatus } from './task.ts';

/** The fields of a new task. */
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

/** How a task is queued again. */
export interface TaskRequeue {
  readonly runAtMs: number;
  /** False when the daemon itself interrupted the attempt. */
  readonly attemptCounts: boolean;
  /** Whether an earlier process died while the task ran. */
  readonly recovered: boolean;
  readonly failureCode: string | null;
  readonly failureReason: string | null;
}

/** The task table. Times are Unix seconds unless named otherwise. */
export interface TaskRepository {
  insert(task: NewTask): Task;
  get(taskId: string): Task | null;
  /** The queued or running task with this key, if any. */
  findLive(dedupeKey: string): Task | null;
  list(limit: number): readonly Task[];
  counts(): Readonly<Record<TaskStatus, number>>;
  /** The next task of a lane at `nowMs`. */
  nextDue(
    lane: TaskLane,
    nowMs: number,
  ): { readonly taskId: string; readonly kind: string; readonly seq: number } | null;
  /** When the next waiting task after `nowMs` is due, Unix milliseconds. */
  nextRunAtMs(nowMs: number): number | null;
  begin(taskId: string, bootId: string, now: number): Task;
  /** Records that a task was asked to stop; a running one becomes `cancelling`. */
  requestCancel(taskId: string, now: number, reason: string | null): void;
  end(taskId: string, ending: TaskEnding, now: number): Task;
  requeue(taskId: string, requeue: TaskRequeue): void;
  writeProgress(taskId: string, progress: TaskProgress, now: number): void;
  /** Tasks that another boot left running. */
  leftRunning(bootId: string): readonly StoredTask[];
  /** Whether a task of this schedule is queued, running or asked to stop. */
  isScheduleActive(scheduleId: string): boolean;
  /** Every queued task, oldest first. */
  waiting(): ReadonlyArray<{ readonly task_id: string; readonly kind: string }>;
}

/** Creates the repository. */
export function createTaskRepository(database: Database): TaskRepository {
  return { ...createTaskReads(database), ...createTaskWrites(database) };
}
