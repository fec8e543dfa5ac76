import type { Logger } from '../../../platform/logging/logging.ts';
import { followJob, type Events } from '../../../engine/events/events.ts';
import { callOf, type Job } from '../../../engine/tasks/job.ts';
import { createRequestedJob } from '../../../engine/tasks/requested-job.ts';
import type { TaskEngine } from '../../../engine/tasks/task-engine.ts';
import type { TranslationMemory } from '../../memory/translation-memory.ts';
import type { TextEvent } from '../../text-events.ts';
import type { Judging } from '../judge/judging.ts';
import { REQUALIFY_JOB, SUPERSEDED_MAX } from '../translation-jobs.ts';
import { WORKER_RUN_JOB } from '../worker/worker-job.ts';
import { containerKey, type JudgedBy } from '../work/store/target-rows.ts';
import type { TranslationThread } from '../work/translation-worker.ts';
import { followMemory } from './follow-memory.ts';
import { requalifyTargets } from './requalify-targets.ts';

interface Requalification {
  readonly job: Job;
  /** Queues the job when targets were judged by other rules or another Glossary. Called at the start and after a reload. */
  catchUp(): Promise<void>;
}

/** Creates the work of judging again. Its job is queued after each event that leaves targets which must be judged again. */
export function createRequalification({
  engine,
  thread,
  judging,
  memory,
  events,
  logger,
}: {
  readonly engine: TaskEngine;
  readonly thread: TranslationThread;
  readonly judging: Judging;
  readonly memory: Pick<TranslationMemory, 'record'>;
  readonly events: Events<TextEvent>;
  readonly logger: Logger;
}): Requalification {
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
  const isWaiting = async (): Promise<boolean> => await thread.mustRequalify((await judgedBy()).key);
  const isCurrent = (key: string): boolean =>
    current !== null && (key === current || key === containerKey(current, true));
  const select = (event: TextEvent): true | null | Promise<true | null> => {
    if (event.kind === 'glossary_changed') {
      current = null;
      return true;
    }
    if (event.kind !== 'targets_changed') return null;
    const isBehind = !event.judgedBy.every(isCurrent);
    // A run with another Glossary stores many batches; they are judged again together, when it has ended.
    if (isBehind && event.isOfRun) isRunBehind = true;
    else if (isBehind || event.hasMoved) return isWaiting().then((waits) => waits || null);
    return null;
  };
  const superseded = createSupersededQueue(engine);
  const failed = (error: unknown): void => {
    logger.warn({ err: error }, 'stored targets are not judged again yet');
  };
  followJob(
    events,
    select,
    () => {
      requested.request();
    },
    failed,
  );
  followJob(
    events,
    (event) => (event.kind === 'records_superseded' ? event.recordIds : null),
    superseded.submit,
    failed,
  );
  const catchUp = async (): Promise<void> => {
    try {
      superseded.submit([]);
      if (await isWaiting()) requested.request();
    } catch (error) {
      failed(error);
    }
  };
  engine.onFinished(({ kind }) => {
    if (kind !== WORKER_RUN_JOB.kind || !isRunBehind) return;
    isRunBehind = false;
    void catchUp();
  });
  return { job: requested.job, catchUp };
}

/** Queues the job for superseded records, and again for those that the database refused: only they say which targets are concerned. */
function createSupersededQueue(engine: TaskEngine): {
  readonly submit: (recordIds: readonly string[]) => void;
} {
  const unqueued = new Set<string>();
  return {
    submit: (recordIds) => {
      for (const id of recordIds) unqueued.add(id);
      while (unqueued.size > 0) {
        const superseded = [...unqueued].slice(0, SUPERSEDED_MAX);
        engine.submit({ ...callOf(REQUALIFY_JOB, { superseded }), dedupe: true });
        for (const id of superseded) unqueued.delete(id);
      }
    },
  };
}
