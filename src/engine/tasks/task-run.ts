import type { Clock } from '../../platform/process/clock.ts';
import { createTaskCourse, type TaskCourse } from './task-course.ts';
import type { TaskContext, Task, TaskProgress } from './task.ts';

/** Why the signal of a run was aborted. */
class TaskInterrupted extends Error {
  constructor(trigger: 'cancel' | 'stop') {
    super(trigger === 'cancel' ? 'the task was cancelled' : 'the daemon is stopping');
    // Libraries use this name to tell an abort from a failure.
    this.name = 'AbortError';
  }
}

interface TaskRunOptions {
  readonly clock: Clock;
  readonly log: TaskContext['log'];
  readonly writeProgress: (progress: TaskProgress) => void;
}

/** One run of a handler, as the engine sees it. */
export interface TaskRun {
  readonly context: TaskContext;
  /** The newest progress, even if it is not written yet. */
  progress(): TaskProgress | null;
  /** How the progress of this run goes. */
  readonly course: TaskCourse;
  /** Aborts the signal now, or at the end of the section that must not be interrupted. */
  interrupt(trigger: 'cancel' | 'stop'): void;
  /** Whether `task-cancel` asked the run to stop, even if it did not stop. */
  cancelRequested(): boolean;
  /** Whether the handler threw this error because its signal was aborted. */
  isAbort(error: unknown): boolean;
}

/** Minimum time between two writes of progress. */
const PROGRESS_INTERVAL_MS = 250;
const MAX_CAUSES = 8;

/** Creates the context of one run, and the engine's handle of it. */
export function createTaskRun(task: Task, { clock, log, writeProgress }: TaskRunOptions): TaskRun {
  const controller = new AbortController();
  const { signal } = controller;
  const course = createTaskCourse(clock);
  let committing = 0;
  let pending: TaskInterrupted | null = null;
  let cancelRequested = false;
  let latest: TaskProgress | null = null;
  let writtenAt = Number.NEGATIVE_INFINITY;

  const abortIfFree = (): void => {
    if (pending !== null && committing === 0) controller.abort(pending);
  };

  return {
    progress: () => latest,
    course,
    interrupt: (trigger) => {
      if (trigger === 'cancel') cancelRequested = true;
      pending ??= new TaskInterrupted(trigger);
      abortIfFree();
    },
    cancelRequested: () => cancelRequested,
    isAbort: (error) => signal.aborted && isAnswerTo(signal.reason, error),
    context: {
      taskId: task.task_id,
      kind: task.kind,
      args: task.args,
      reviewer: task.reviewer,
      reason: task.reason,
      attempt: task.attempt,
      signal,
      log,
      progress: (done, total, unit, phase) => {
        latest = { done, total, unit, phase };
        course.add(latest);
        const now = clock.monotonic();
        if (now - writtenAt < PROGRESS_INTERVAL_MS) return;
        writtenAt = now;
        writeProgress(latest);
      },
      commit: async (section) => {
        signal.throwIfAborted();
        committing += 1;
        try {
          return await section();
        } finally {
          committing -= 1;
          abortIfFree();
        }
      },
    },
  };
}

/** Libraries throw the reason of a signal as it is, or wrapped, or their own `AbortError`. */
function isAnswerTo(reason: unknown, error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth += 1) {
    if (current === reason || current.name === 'AbortError') return true;
    current = current.cause;
  }
  return current === reason;
}
