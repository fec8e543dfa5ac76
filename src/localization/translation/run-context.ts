import type { TaskContext } from '../../engine/tasks/task.ts';

/** The part of the context of a task that long work needs. */
export interface RunContext {
  readonly signal: AbortSignal;
  readonly progress: TaskContext['progress'];
}
