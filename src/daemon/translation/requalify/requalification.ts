import type { Logger } from '../../../platform/logging/logging.ts';
import { listenToCalls, type AnsweredCall } from '../../../platform/threads/listened-thread.ts';
import type { Thread } from '../../../platform/threads/thread.ts';
import type { GlossaryPort } from '../../glossary/glossary.ts';
import type { Memory } from '../../memory/memory.ts';
import type { TranslationMemory } from '../../memory/translation-memory.ts';
import { callOf, type Job } from '../../tasks/job.ts';
import { createRequestedJob } from '../../tasks/requested-job.ts';
import type { TaskEngine } from '../../tasks/task-engine.ts';
import type { Judging } from '../judge/judging.ts';
import { REQUALIFY_JOB } from '../translation-jobs.ts';
import { WORKER_RUN_JOB } from '../worker/worker-job.ts';
import { containerKey, type JudgedBy } from '../work/judged-by.ts';
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
  readonly glossary: Pick<GlossaryPort, 'onChanged'>;
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

/** The rules and the Glossary that the targets of a call were judged by. */
function judgementsOf(call: AnsweredCall<TranslationCalls>): readonly (JudgedBy | null)[] {
  switch (call.name) {
    case 'applyUpdate':
      return call.argument.results.map(({ judgedBy }) => judgedBy);
    case 'storeResults':
      return call.argument.results.map(({ judgedBy }) => judgedBy);
    case 'storeRepetitions':
      return call.argument.items.map(({ judgedBy }) => judgedBy);
    default:
      return [];
  }
}

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
  /** The key of the newest judgements; `null` until it was read, and after a change. */
  let current: string | null = null;
  /** Whether a run of workers has stored targets that were judged by something else. */
  let isRunBehind = false;
  const judgedBy = async (): Promise<JudgedBy> => {
    const by = await judging.judgedBy();
    current = by.key;
    return by;
  };
  const requested = createRequestedJob({ engine, logger }, REQUALIFY_JOB, async (context) => {
    const superseded = await followMemory({ thread, memory }, context.args.superseded, context.signal);
    const judged = await requalifyTargets({ thread, judging: { ...judging, judgedBy } }, context);
    return { superseded, ...judged };
  });
  onSuperseded((superseded) => {
    engine.submit({ ...callOf(REQUALIFY_JOB, { superseded: [...superseded] }), dedupe: true });
  });
  const look = async (): Promise<void> => {
    try {
      const { key } = await judgedBy();
      if (await thread.call('mustRequalify', key)) requested.request();
    } catch (error) {
      logger.warn({ err: error }, 'stored targets are not judged again yet');
    }
  };
  const isCurrent = (by: JudgedBy | null): boolean =>
    by === null || (current !== null && [current, containerKey(current, true)].some((key) => key === by.key));
  glossary.onChanged(() => {
    current = null;
    requested.request();
  });
  engine.onFinished(({ kind }) => {
    if (kind !== WORKER_RUN_JOB.kind || !isRunBehind) return;
    isRunBehind = false;
    void look();
  });
  return {
    job: requested.job,
    thread: listenToCalls<TranslationCalls>(thread, (call) => {
      const isBehind = judgementsOf(call).some((by) => !isCurrent(by));
      // A run with another Glossary stores many batches; they are judged again together, when it has ended.
      if (isBehind && call.name === 'storeResults') isRunBehind = true;
      else if (isBehind || MOVING.has(call.name)) void look();
    }),
    catchUp: look,
  };
}
