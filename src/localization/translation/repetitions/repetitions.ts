import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../../platform/logging/logging.ts';
import { followJob, type Events } from '../../../engine/events/events.ts';
import type { Job } from '../../../engine/tasks/job.ts';
import { createRequestedJob } from '../../../engine/tasks/requested-job.ts';
import type { TaskEngine } from '../../../engine/tasks/task-engine.ts';
import type { TextEvent } from '../../text-events.ts';
import type { Judging } from '../judge/judging.ts';
import { PROPAGATE_JOB } from '../translation-jobs.ts';
import type { BuiltFor } from '../work/store/builds.ts';
import type { TranslationThread } from '../work/translation-worker.ts';
import type { TextRules } from '../judge/text-rules.ts';
import { TaskError, type TaskResult } from '../../../engine/tasks/task.ts';
import type { RunContext } from '../run-context.ts';
import { judgingTaskError } from '../work/translation-failure.ts';
import type { JudgedRepetition, Repetition, RepetitionPage } from '../work/repetition/repeated-targets.ts';

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

/**
 * Writes for each container of the current tasks whether its rule lets its units take part in repetitions.
 *
 * @throws Error of the thread; the signal's reason
 */
export async function followRules(
  thread: TranslationThread,
  rules: TextRules,
  signal: AbortSignal,
): Promise<void> {
  let after = -1;
  let hasChanged = false;
  for (;;) {
    const page = await thread.repeatingContainers(after, { signal });
    const last = page.at(-1);
    if (last === undefined) break;
    const changes = page.flatMap(({ taskSeq, destination, archiveEntry, repeats }) => {
      const { repetitions } = rules.ruleFor(destination, archiveEntry).constraints;
      return repetitions === repeats ? [] : { taskSeq, repeats: repetitions };
    });
    if (changes.length > 0) await thread.setRepeating(changes, { signal });
    hasChanged ||= changes.some(({ repeats }) => repeats);
    after = last.taskSeq;
  }
  if (hasChanged) await thread.sweepRepetitionsAgain(null, { signal });
}

interface PropagateDependencies {
  readonly thread: TranslationThread;
  readonly judging: Judging;
}

/**
 * Gives units that repeat the text of another one its target, judged in their own places, in bounded pages. A run that was
 * interrupted is continued by the next one. When the parse index has moved on, the rest waits for the next tasks.
 *
 * @throws TaskError `backend_unavailable`, `translation_unavailable`; the signal's reason
 */
export async function propagateTargets(
  dependencies: PropagateDependencies,
  context: RunContext,
): Promise<TaskResult> {
  const { thread } = dependencies;
  const { signal, progress } = context;
  let written = 0;
  let finished = 0;
  try {
    while (await thread.sweepRepetitions(null, { signal }));
    let page = await thread.repetitionPage(null, { signal });
    while (page.next !== null) {
      const stored = await storePage(dependencies, page, signal);
      if (stored === null) return { written, postponed: POSTPONED };
      written += stored;
      finished += page.done.length;
      progress(finished, finished + page.waiting - page.done.length, 'entries', 'repeating targets');
      page = await thread.repetitionPage(page.next, { signal });
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof TaskError && error.code === 'text_not_indexed')
      return { written, postponed: error.message };
    throw judgingTaskError(error);
  }
  return { written };
}

const POSTPONED = 'newer tasks replaced these; the job runs again after task-build';

/** @returns how many were written; `null` when other tasks have replaced those of the page */
async function storePage(
  { thread, judging }: PropagateDependencies,
  page: RepetitionPage,
  signal: AbortSignal,
): Promise<number | null> {
  const { builtFor, done } = page;
  const items: JudgedRepetition[] = [];
  const containers = Map.groupBy(page.items, ({ taskId }) => taskId);
  for (const repetitions of containers.values()) {
    items.push(...(await judgeRepetitions(judging, builtFor, repetitions, signal)));
  }
  const stored = await thread.storeRepetitions({ builtFor, done, items }, { signal });
  return stored?.written ?? null;
}

/** @param repetitions of one container, at least one */
async function judgeRepetitions(
  { judge, units }: Judging,
  builtFor: BuiltFor,
  repetitions: readonly Repetition[],
  signal: AbortSignal,
): Promise<readonly JudgedRepetition[]> {
  const [{ destination, wasProofread } = { destination: '', wasProofread: false }] = repetitions;
  const ordinals = repetitions.map(({ ordinal }) => ordinal);
  const sources = await units.unitsOf({ ...builtFor, destination, ordinals }, signal);
  const texts = sources.map(({ unit }, at) => ({
    place: unit,
    sourceText: unit.sourceText,
    targetText: repetitions[at]?.text ?? '',
  }));
  const { judgements, by } = await judge.judge(texts, { wasProofread, signal });
  return repetitions.flatMap((repetition, at) => {
    const [text, judgement] = [texts[at], judgements[at]];
    if (text === undefined || judgement === undefined) return [];
    return { ...repetition, sourceText: text.sourceText, ...judgement, judgedBy: by };
  });
}
