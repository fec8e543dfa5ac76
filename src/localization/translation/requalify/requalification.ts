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
import { normalText } from '../../../domain/text/normal-text.ts';
import type { SupersededWording } from '../work/repetition/superseded-wording.ts';
import { TaskError, type TaskResult } from '../../../engine/tasks/task.ts';
import type { RunContext } from '../run-context.ts';
import { judgingTaskError } from '../work/translation-failure.ts';
import type {
  RequalifiedBatch,
  RequalifiedCounts,
  RequalifyPage,
} from '../work/repetition/requalified-targets.ts';

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
  readonly memory: TranslationMemory;
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
    const superseded = await followMemory(thread, memory, context.args.superseded, context.signal);
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
  const unqueued = new Set<string>();
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
    (recordIds) => {
      queueSuperseded(engine, unqueued, recordIds);
    },
    failed,
  );
  const catchUp = async (): Promise<void> => {
    try {
      queueSuperseded(engine, unqueued, []);
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

/**
 * Queues the job for superseded records.
 *
 * @param unqueued those that the database has refused before, which are queued again: only they name the targets that are concerned
 */
function queueSuperseded(engine: TaskEngine, unqueued: Set<string>, recordIds: readonly string[]): void {
  for (const id of recordIds) unqueued.add(id);
  while (unqueued.size > 0) {
    const superseded = [...unqueued].slice(0, SUPERSEDED_MAX);
    engine.submit({ ...callOf(REQUALIFY_JOB, { superseded }), dedupe: true });
    for (const id of superseded) unqueued.delete(id);
  }
}

/**
 * Marks the targets that came from superseded records and that nobody has reviewed. Repeating it changes nothing.
 *
 * @param recordIds records that others have replaced; one that is trusted again is passed over
 * @returns how many targets were marked
 * @throws an Error of the Translation Memory or of the translation thread; the signal's reason
 */
export async function followMemory(
  thread: TranslationThread,
  memory: TranslationMemory,
  recordIds: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  let marked = 0;
  for (const recordId of recordIds) {
    signal.throwIfAborted();
    const wording = await supersededWording(memory, recordId);
    if (wording === null) continue;
    let after: Uint8Array | null = null;
    do {
      const part: { readonly marked: number; readonly next: Uint8Array | null } = await thread.markSuperseded(
        { wording, after },
        { signal },
      );
      marked += part.marked;
      after = part.next;
    } while (after !== null);
  }
  return marked;
}

async function supersededWording(
  memory: TranslationMemory,
  recordId: string,
): Promise<SupersededWording | null> {
  const old = await memory.record(recordId);
  if (old?.state !== 'superseded' || old.superseded_by === null) return null;
  const winner = await memory.record(old.superseded_by);
  if (winner?.state !== 'trusted' || normalText(winner.target_text) === normalText(old.target_text)) {
    return null;
  }
  return {
    sourceText: old.source_text,
    targetText: old.target_text,
    wordingNow: winner.target_text,
    reason: `the Translation Memory replaced ${old.record_id} by ${winner.record_id}`,
  };
}

interface RequalifyDependencies {
  readonly thread: TranslationThread;
  readonly judging: Judging;
}

/**
 * Judges the stored targets of all tasks that were judged by other rules or another Glossary, in bounded pages. A run that was
 * interrupted is continued by the next one. When the parse index has moved on, the rest waits for the next tasks.
 *
 * @throws TaskError `backend_unavailable`, `translation_unavailable`; the signal's reason
 */
export async function requalifyTargets(
  dependencies: RequalifyDependencies,
  { signal, progress }: RunContext,
): Promise<TaskResult> {
  const { thread, judging } = dependencies;
  const done = { tasks: 0, judged: 0, blocked: 0, freed: 0 };
  try {
    const by = await judging.judgedBy();
    const total = await thread.tasksToRequalify(by.key, { signal });
    const read = async (fromTask: number): Promise<RequalifyPage | null> =>
      await thread.requalifyPage({ by, fromTask }, { signal });
    for (let page = await read(0), next = 0; page !== null; page = await read(next)) {
      const stored = await judgePage(dependencies, by, page, signal);
      if (stored === null) return { ...done, postponed: POSTPONED };
      done.judged += page.items.length;
      done.blocked += stored.blocked;
      done.freed += stored.freed;
      if (stored.isTaskDone) done.tasks += 1;
      next = stored.isTaskReopened ? page.taskSeq + 1 : page.taskSeq;
      progress(done.tasks, Math.max(total, done.tasks), 'tasks', 'judging targets');
    }
    // Tasks that other work has settled meanwhile were on no page.
    if (total > 0) progress(total, total, 'tasks', 'judging targets');
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof TaskError && error.code === 'text_not_indexed') {
      return { ...done, postponed: error.message };
    }
    throw judgingTaskError(error);
  }
  return done;
}

const POSTPONED = 'newer tasks replaced these; the job runs again after task-build';

/** @returns `null` when other tasks have replaced those of the page */
async function judgePage(
  { thread, judging: { judge, units } }: RequalifyDependencies,
  by: JudgedBy,
  page: RequalifyPage,
  signal: AbortSignal,
): Promise<RequalifiedCounts | null> {
  const { builtFor, taskSeq, destination, wasProofread, resets, upTo } = page;
  const ordinals = page.items.map(({ ordinal }) => ordinal);
  const sources = await units.unitsOf({ ...builtFor, destination, ordinals }, signal);
  const texts = sources.map(({ unit }, at) => ({
    place: unit,
    sourceText: unit.sourceText,
    targetText: page.items[at]?.text ?? '',
  }));
  const { judgements } = await judge.judge(texts, { wasProofread, signal });
  const items: RequalifiedBatch['items'] = page.items.flatMap(({ unitId, revision }, at) => {
    const judgement = judgements[at];
    return judgement === undefined ? [] : [{ unitId, revision, ...judgement }];
  });
  return await thread.storeRequalified(
    { builtFor, taskSeq, wasProofread, resets, upTo, by, items },
    { signal },
  );
}
