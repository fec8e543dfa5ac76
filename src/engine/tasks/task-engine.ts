import type { JobRegistry } from './job.ts';
import type { CoursePhase } from './task-course.ts';
import type { KindHistory } from './task-reads.ts';
import type {
  TaskLane,
  TaskResult,
  TaskStatus,
  InlineSubmission,
  Task,
  TaskSubmission,
  AcceptedTask,
} from './task.ts';

/** One line of a task's log. */
export interface TaskLogLine {
  /** Starts at 1; gaps mean that lines were dropped. */
  readonly seq: number;
  /** Unix seconds. */
  readonly ts: number;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>> | null;
}

/** The log of a task, oldest line first. */
export interface TaskLogPage {
  readonly lines: readonly TaskLogLine[];
  /** Whether earlier lines were dropped because there were too many. */
  readonly truncated: boolean;
}

/** Runs tasks in lanes, one at a time in each, and stores every task in the main database. */
export interface TaskEngine {
  readonly jobs: JobRegistry;
  /**
   * The task that an earlier call got under the same idempotency key within the last 24 hours, or `null`.
   *
   * @throws TaskError `idempotency_key_reused` when the key was used for a different request
   */
  replayed(submission: InlineSubmission): Task | null;
  /**
   * Queues a task. The row is durable when this returns. When an equal task is queued or running, or a call with the same
   * idempotency key got a task within the last 24 hours, that task is returned instead. Inside a transaction of the
   * same database the row is committed or rolled back with that transaction, and nothing runs before it ends.
   *
   * @throws TaskError `idempotency_key_reused` when the key was used for a different request
   */
  submit(submission: TaskSubmission): AcceptedTask;
  /**
   * Records a task that runs inside the request and is finished when this returns. When `run` throws, the task is
   * recorded as failed and the error is passed on. With an idempotency key that is known, `run` is not called.
   * What `run` writes to the main database before it returns is committed together with the end of the task.
   * Tasks of one kind run one after the other.
   *
   * @throws ServiceError `backend_unavailable` when this task, or an earlier one of its kind, does not end in time
   */
  recordInline(
    submission: InlineSubmission,
    run: () => Promise<TaskResult> | TaskResult,
  ): Promise<AcceptedTask>;
  /** Cancels a queued task and asks a running one to stop. Throws TaskError `unknown_task`, `task_already_terminal`. */
  cancel(taskId: string, reason: string | null): Task;
  get(taskId: string): Task | null;
  /** Newest first, at most `limit`. */
  list(limit: number): readonly Task[];
  /** Every task that runs or is asked to stop, oldest first. */
  running(): readonly Task[];
  /** How the progress of the last run of a task went; empty when this process no longer knows it. */
  course(taskId: string): readonly CoursePhase[];
  /** The log of a task, or `null` when the task does not exist. */
  logs(taskId: string): TaskLogPage | null;
  counts(): Readonly<Record<TaskStatus, number>>;
  /** How the tasks of this kind went, and what is queued. */
  historyOf(kind: string): KindHistory;
  /** When the oldest running task of this kind started, Unix seconds; `null` when none runs. */
  runningSince(kind: string): number | null;
  /** The tasks that wait in each lane, and when the oldest of them could have started, Unix milliseconds; lanes without one are absent. */
  queues(): ReadonlyArray<{ readonly lane: TaskLane; readonly count: number; readonly oldest_ms: number }>;
  /** Whether a task submitted with this `scheduleId` has not ended. */
  isScheduleActive(scheduleId: string): boolean;
  /** The listener is called after every task that reached a terminal state. */
  onFinished(listener: (task: Task) => void): void;
  /**
   * Recovers the tasks that an earlier process left behind; nothing runs yet. Call it after every job is registered;
   * otherwise `start` calls it.
   */
  recover(): void;
  /** Starts to run queued tasks. */
  start(): void;
  /** Accepts no more tasks, aborts running ones and waits for them for at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
}
