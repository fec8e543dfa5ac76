import { TaskError, type TaskResult } from '../../../engine/tasks/task.ts';
import type { RunContext } from '../run-context.ts';
import type { BuiltFor } from '../work/store/builds.ts';
import type { Judging } from '../judge/judging.ts';
import { judgingTaskError } from '../work/translation-failure.ts';
import type { JudgedRepetition, Repetition, RepetitionPage } from '../work/repetition/repeated-targets.ts';
import type { TranslationThread } from '../work/translation-worker.ts';

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
  const [{ indexPosition, wasProofread } = { indexPosition: 0, wasProofread: false }] = repetitions;
  const ordinals = repetitions.map(({ ordinal }) => ordinal);
  const sources = await units.unitsOf({ ...builtFor, indexPosition, ordinals }, signal);
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
