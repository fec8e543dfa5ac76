import type { z } from 'zod';
import type { Logger } from '../../platform/logging/logging.ts';
import { callOf, implementJob, type ArgumentsOf, type Job, type JobDefinition } from './job.ts';
import type { TaskEngine } from './task-engine.ts';
import type { TaskContext, TaskResult } from './task.ts';

/** A job that other parts ask for, as often as they like: one task of it waits or runs at a time. */
interface RequestedJob {
  readonly job: Job;
  /**
   * Makes sure that a whole pass begins after this moment: a running task does another pass, and when it fails, another task does
   * it. A task that is cancelled takes the requests with it, and one that cannot be queued is logged; the next request runs again.
   */
  request(): void;
}

/**
 * Creates the job. Its passes must do whatever work they find, and nothing when there is none.
 *
 * @param options the logger hears of a task that could not be queued: who requests has done its own work by then
 * @param definition without required arguments
 * @param pass its result is that of the task; of several passes the last one's
 */
export function createRequestedJob<Arguments extends z.ZodObject>(
  { engine, logger }: { engine: TaskEngine; logger: Logger },
  definition: JobDefinition<Arguments>,
  pass: (context: TaskContext<ArgumentsOf<JobDefinition<Arguments>>>) => Promise<TaskResult>,
): RequestedJob {
  let isWanted = false;
  let isQueued = false;
  const submit = (): void => {
    isQueued = true;
    isWanted = false;
    try {
      engine.submit({ ...callOf(definition, {} as z.input<Arguments>), dedupe: true });
    } catch (error) {
      isQueued = false;
      logger.warn(
        { err: error, kind: definition.kind },
        'a job waits for the next request: it cannot be queued',
      );
    }
  };
  engine.onFinished(({ kind, status }) => {
    if (kind !== definition.kind) return;
    isQueued = false;
    // A request after the last pass began found the task alive and queued no other one.
    if (isWanted && status !== 'cancelled') submit();
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
      if (!isQueued) submit();
      isWanted = true;
    },
  };
}
