import type { z } from 'zod';
import { callOf, implementJob, type ArgumentsOf, type Job, type JobDefinition } from './job.ts';
import type { TaskEngine } from './task-engine.ts';
import type { TaskContext, TaskResult } from './task.ts';

/** A job that other parts ask for, as often as they like: one task of it waits or runs at a time. */
export interface RequestedJob {
  readonly job: Job;
  /** Makes sure that a whole pass runs after this moment. A running task does another pass. */
  request(): void;
}

/**
 * Creates the job. Its passes must do whatever work they find, and nothing when there is none.
 *
 * @param definition without required arguments
 * @param pass its result is that of the task; of several passes the last one's
 */
export function createRequestedJob<Arguments extends z.ZodObject>(
  engine: Pick<TaskEngine, 'submit' | 'onFinished'>,
  definition: JobDefinition<Arguments>,
  pass: (context: TaskContext<ArgumentsOf<JobDefinition<Arguments>>>) => Promise<TaskResult>,
): RequestedJob {
  let isWanted = false;
  let isQueued = false;
  const submit = (): void => {
    isQueued = true;
    try {
      engine.submit({ ...callOf(definition, {} as z.input<Arguments>), dedupe: true });
    } catch (error) {
      isQueued = false;
      throw error;
    }
  };
  engine.onFinished(({ kind, status }) => {
    if (kind !== definition.kind) return;
    isQueued = false;
    // A request between the last pass and the end of the task found the task alive and queued no other one.
    if (isWanted && status === 'succeeded') submit();
  });
  return {
    job: implementJob(definition, async (context) => {
      isQueued = false;
      for (;;) {
        isWanted = false;
        const result = await pass(context);
        if (!isWanted) return result;
      }
    }),
    request: () => {
      isWanted = true;
      if (!isQueued) submit();
    },
  };
}
