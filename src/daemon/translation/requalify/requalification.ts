import type { Logger } from '../../../platform/logging/logging.ts';
import type { Thread } from '../../../platform/threads/thread.ts';
import type { GlossaryPort } from '../../glossary/glossary.ts';
import type { Memory } from '../../memory/memory.ts';
import type { TranslationMemory } from '../../memory/translation-memory.ts';
import { callOf, type Job } from '../../tasks/job.ts';
import { createRequestedJob } from '../../tasks/requested-job.ts';
import type { TaskEngine } from '../../tasks/task-engine.ts';
import type { Judging } from '../judge/judging.ts';
import { REQUALIFY_JOB } from '../translation-jobs.ts';
import type { TranslationCalls } from '../work/translation-worker.ts';
import { followMemory } from './follow-memory.ts';
import { requalifyTargets } from './requalify-targets.ts';

type WorkThread = Pick<Thread<TranslationCalls>, 'call'>;

/** Judging stored targets again when the Glossary or the rules have changed. */
export interface Requalification {
  readonly job: Job;
  /** The thread, with calls that queue the job when they leave targets that must be judged again. */
  readonly thread: WorkThread;
  /** Queues the job when targets were judged by other rules or another Glossary. Called at the start and after a reload. */
  catchUp(): Promise<void>;
}

export interface RequalificationOptions {
  readonly engine: Pick<TaskEngine, 'submit' | 'onFinished'>;
  readonly thread: WorkThread;
  readonly judging: Judging;
  readonly glossary: Pick<GlossaryPort, 'generation' | 'onChanged'>;
  readonly memory: Pick<TranslationMemory, 'record'>;
  readonly onSuperseded: Memory['onSuperseded'];
  readonly logger: Pick<Logger, 'warn'>;
}

/**
 * Calls that change what some targets must be judged by: their places, and whether their container was proofread. Or they store
 * judgements that were collected long before.
 */
const MOVING: ReadonlySet<keyof TranslationCalls> = new Set([
  'finishBuild',
  'applyReview',
  'applyFileReview',
  'applyCheck',
]);

type Argument<Name extends keyof TranslationCalls> = Parameters<TranslationCalls[Name]>[0];

/** Calls that store targets, with the generation of the Glossary that those were judged by; `null` without targets. */
const STORED_BY: {
  readonly [Name in keyof TranslationCalls]?: (argument: Argument<Name>) => number | null;
} = {
  applyUpdate: ({ glossaryGeneration }) => glossaryGeneration,
  storeResults: ({ provenance }) => provenance.glossaryGeneration,
  storeRepetitions: ({ glossaryGeneration }) => glossaryGeneration,
};

/** Creates the work of judging again. */
export function createRequalification({
  engine,
  thread,
  judging,
  glossary,
  memory,
  onSuperseded,
  logger,
}: RequalificationOptions): Requalification {
  const requested = createRequestedJob({ engine, logger }, REQUALIFY_JOB, async (context) => {
    const superseded = await followMemory({ thread, memory }, context.args.superseded, context.signal);
    return { superseded, ...(await requalifyTargets({ thread, judging }, context)) };
  });
  onSuperseded((superseded) => {
    engine.submit({ ...callOf(REQUALIFY_JOB, { superseded: [...superseded] }), dedupe: true });
  });
  glossary.onChanged(() => {
    requested.request();
  });
  const look = async (): Promise<void> => {
    try {
      const { key } = await judging.judgedBy();
      if (await thread.call('mustRequalify', key)) requested.request();
    } catch (error) {
      logger.warn({ err: error }, 'stored targets are not judged again yet');
    }
  };
  return {
    job: requested.job,
    thread: {
      call: (name, argument, callOptions) => {
        const answer = thread.call(name, argument, callOptions);
        const settled = (): void => {
          const generation = STORED_BY[name]?.(argument) ?? null;
          // The Glossary changed after these targets were judged, and perhaps the job has passed their task already.
          if (generation !== null && generation !== glossary.generation()) requested.request();
          else if (MOVING.has(name)) void look();
        };
        answer.then(settled, () => undefined);
        return answer;
      },
    },
    catchUp: look,
  };
}
