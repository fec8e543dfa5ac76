import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../../platform/logging/logging.ts';
import { listenToCalls } from '../../../platform/threads/listened-thread.ts';
import type { Thread } from '../../../platform/threads/thread.ts';
import type { Job } from '../../tasks/job.ts';
import { createRequestedJob } from '../../tasks/requested-job.ts';
import type { TaskEngine } from '../../tasks/task-engine.ts';
import type { TaskContext, TaskResult } from '../../tasks/task.ts';
import type { Judging } from '../judge/judging.ts';
import { PROPAGATE_JOB } from '../translation-jobs.ts';
import type { BuiltFor } from '../work/task-update.ts';
import type { TranslationCalls } from '../work/translation-worker.ts';
import { followRules } from './follow-rules.ts';
import { propagateTargets } from './propagate.ts';

type WorkThread = Pick<Thread<TranslationCalls>, 'call'>;

/** Texts that are translated once. */
export interface Repetitions {
  readonly job: Job;
  /** The thread, with calls that queue the job when a stored target is to be repeated. */
  readonly thread: WorkThread;
  /** Queues the job when there is work, or when the rules are others than at its last run. Called at the start and after a reload. */
  catchUp(): Promise<void>;
}

export interface RepetitionsOptions {
  readonly engine: Pick<TaskEngine, 'submit' | 'onFinished'>;
  readonly thread: WorkThread;
  readonly judging: Judging;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Calls that store targets. */
const STORING: ReadonlySet<keyof TranslationCalls> = new Set([
  'applyUpdate',
  'applyReview',
  'applyFileReview',
  'storeResults',
  'finishBuild',
]);

/** Creates the work on repetitions. */
export function createRepetitions({ engine, thread, judging, logger }: RepetitionsOptions): Repetitions {
  /** The rules, and the tasks that they were written to. */
  let followed: { readonly digest: string; readonly built: BuiltFor } | null = null;
  const pass = async (context: TaskContext): Promise<TaskResult> => {
    const rules = await judging.rules();
    const built = await thread.call('currentTasks', null, { signal: context.signal });
    const { digest } = rules;
    if (!isDeepStrictEqual(followed, { digest, built })) await followRules(thread, rules, context.signal);
    followed = { digest, built };
    return await propagateTargets({ thread, judging }, context);
  };
  const requested = createRequestedJob({ engine, logger }, PROPAGATE_JOB, pass);
  const look = async (): Promise<void> => {
    try {
      if (await thread.call('wantsRepetitions', null)) requested.request();
    } catch (error) {
      logger.warn({ err: error }, 'repetitions wait until the next target is stored');
    }
  };
  return {
    job: requested.job,
    thread: listenToCalls<TranslationCalls>(thread, ({ name }) => {
      if (STORING.has(name)) void look();
    }),
    catchUp: async () => {
      try {
        const { digest } = await judging.rules();
        if (followed?.digest === digest) await look();
        else requested.request();
      } catch (error) {
        logger.warn({ err: error }, 'repetitions wait until the rules can be read');
      }
    },
  };
}
