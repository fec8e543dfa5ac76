import { TaskError, type TaskResult } from '../../../engine/tasks/task.ts';
import type { RunContext } from '../run-context.ts';
import type { Judging } from '../judge/judging.ts';
import { judgingTaskError } from '../work/translation-failure.ts';
import type {
  RequalifiedBatch,
  RequalifiedCounts,
  RequalifyPage,
} from '../work/repetition/requalified-targets.ts';
import type { JudgedBy } from '../work/store/target-rows.ts';
import type { TranslationThread } from '../work/translation-worker.ts';

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
  const { builtFor, taskSeq, indexPosition, wasProofread, resets, upTo } = page;
  const ordinals = page.items.map(({ ordinal }) => ordinal);
  const sources = await units.unitsOf({ ...builtFor, indexPosition, ordinals }, signal);
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
