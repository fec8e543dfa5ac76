import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../../platform/logging/logging.ts';
import { followJob, type Events } from '../../../engine/events/events.ts';
import type { Job } from '../../../engine/tasks/job.ts';
import { createRequestedJob } from '../../../engine/tasks/requested-job.ts';
import type { TaskEngine } from '../../../engine/tasks/task-engine.ts';
import type { TextEvent } from '../../text-events.ts';
import type { Judging } from '../judge/judging.ts';
import { PROPAGATE_JOB } from '../translation-jobs.ts';
import type { BuiltFor } from '../work/store/task-update.ts';
import type { TranslationThread } from '../work/translation-worker.ts';
import { followRules } from './follow-rules.ts';
import { propagateTargets } from './propagate.ts';

interface Repetitions {
  readonly job: Job;
  /** Queues the job when there is work, or when the rules are others than at its last run. Called at the start and after a reload. */
  catchUp(): Promise<void>;
}

/** Creates the work on repetitions. Its job is queued after each event that leaves units without the target of another one. */
export function createRepetitions({
  engine,
  thread,
  judging,
  events,
  logger,
}: {
  readonly engine: TaskEngine;
  readonly thread: TranslationThread;
  readonly judging: Judging;
  readonly events: Events<TextEvent>;
  readonly logger: Logger;
}): Repetitions {
  /** The rules, and the tasks that they were written to. */
  let followed: { readonly digest: string; readonly built: BuiltFor } | null = null;
  const requested = createRequestedJob({ engine, logger }, PROPAGATE_JOB, async (context) => {
    const rules = await judging.rules();
    const built = await thread.currentTasks(null, { signal: context.signal });
    const { digest } = rules;
    if (!isDeepStrictEqual(followed, { digest, built })) await followRules(thread, rules, context.signal);
    followed = { digest, built };
    return await propagateTargets({ thread, judging }, context);
  });
  const failed = (error: unknown): void => {
    logger.warn({ err: error }, 'repetitions wait until the next target is stored');
  };
  const wanted = (event: TextEvent) => (event.kind === 'targets_changed' && event.mayRepeat ? event : null);
  followJob(
    events,
    wanted,
    () => {
      requested.request();
    },
    failed,
  );
  return {
    job: requested.job,
    catchUp: async () => {
      try {
        const { digest } = await judging.rules();
        if (followed?.digest !== digest || (await thread.wantsRepetitions())) requested.request();
      } catch (error) {
        failed(error);
      }
    },
  };
}
