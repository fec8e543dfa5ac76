import { currentTrace, type Trace } from '../../platform/logging/trace.ts';

/** Tasks whose traces are remembered; the oldest is forgotten first. */
const MAX_TASKS = 1_000;

/** Remembers which request's trace a task belongs to, while the process runs. */
export interface TaskTraces {
  /** Notes the trace of the running request for the task that it created. */
  note(taskId: string): void;
  /** The trace of a task, or `null`. */
  of(taskId: string): Trace | null;
}

/** Makes an empty memory. */
export function createTaskTraces(): TaskTraces {
  const traces = new Map<string, Trace>();
  return {
    note: (taskId) => {
      const trace = currentTrace();
      if (trace === null) return;
      traces.set(taskId, trace);
      const [oldest] = traces.keys();
      if (traces.size > MAX_TASKS && oldest !== undefined) traces.delete(oldest);
    },
    of: (taskId) => traces.get(taskId) ?? null,
  };
}
