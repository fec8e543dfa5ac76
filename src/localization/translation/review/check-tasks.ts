import type { ArgumentsOf } from '../../../engine/tasks/job.ts';
import type { TaskContext, TaskResult } from '../../../engine/tasks/task.ts';
import type { CheckDone, CheckName, CheckPlace, ConsistencyPart } from '../work/review/task-check.ts';
import { openEvaluation, type EvaluationPorts } from './evaluate-targets.ts';
import type { PROOFREAD_JOB } from './review-jobs.ts';
import { judgeReview, type ReviewPorts } from './review-pages.ts';

const PAGE_TASKS = 100;

/**
 * Judges the targets of translated tasks again, has a provider evaluate them when one is named, and compares the targets of equal
 * sources over the whole release. Each run continues where the run before ended; an evaluation that reached a cap continues within its
 * task. Findings are stored, and nothing is accepted. A target with a new error is blocked. A trial only estimates what the
 * evaluation would use.
 *
 * @throws TaskError `text_not_indexed`, the codes of providers; errors of the translation thread; the signal's reason
 */
export async function checkTasks(
  ports: EvaluationPorts,
  context: TaskContext<ArgumentsOf<typeof PROOFREAD_JOB>>,
): Promise<TaskResult> {
  const { args, signal } = context;
  const evaluation = args.provider === undefined ? null : await openEvaluation(ports, args, signal);
  const isTrial = evaluation?.isTrial ?? false;
  const sums = { tasks: 0, units: 0, changed: 0, blocked: 0 };
  const name: CheckName = evaluation === null ? 'checked' : 'evaluated';
  const start = await ports.thread.checkCursor(name, { signal });
  const moveCursor = async (place: CheckPlace): Promise<void> => {
    await ports.thread.setCheckCursor({ name, place });
  };
  for await (const taskSeq of translatedTasks(ports, start, args.max_tasks, signal)) {
    const { reviewId, units } = await ports.thread.beginCheck(taskSeq, { signal });
    try {
      const done = isTrial ? { units, changed: 0, blocked: 0 } : await judgeTask(ports, reviewId, signal);
      sums.units += done.units;
      sums.changed += done.changed;
      sums.blocked += done.blocked;
      const after =
        start.number === null || taskSeq !== start.taskSeq ? null : { taskSeq, number: start.number };
      const isWhole = evaluation === null || (await evaluation.evaluate(reviewId, after, moveCursor));
      if (!isWhole) break;
      sums.tasks += 1;
      if (!isTrial) await moveCursor({ taskSeq, number: null });
    } finally {
      await ports.thread.endReview(reviewId).catch(() => undefined);
    }
    context.progress(sums.tasks, null, 'steps', 'judging tasks');
  }
  const found = evaluation === null ? {} : { evaluation: evaluation.report() };
  if (isTrial) return { ...sums, ...found };
  const inconsistent = await compareTargets(ports, signal, (compared) => {
    context.progress(compared, null, 'entries', 'comparing targets of equal sources');
  });
  return { ...sums, inconsistent, ...found };
}

async function judgeTask(ports: ReviewPorts, reviewId: string, signal: AbortSignal): Promise<CheckDone> {
  await judgeReview(ports, reviewId, signal);
  return await ports.thread.applyCheck(reviewId);
}

/** The tasks of a run: from the place where the run before ended, and then from the first one on. */
async function* translatedTasks(
  { thread }: ReviewPorts,
  { taskSeq: last, number }: CheckPlace,
  most: number,
  signal: AbortSignal,
): AsyncGenerator<number> {
  let count = 0;
  // A task that is not done comes first.
  const done = number === null ? last : last - 1;
  for (const { from, upTo } of [
    { from: done, upTo: null },
    { from: -1, upTo: done },
  ]) {
    let after: number | null = from;
    while (after !== null && count < most) {
      const limit = Math.min(PAGE_TASKS, most - count);
      const page: readonly number[] = await thread.translatedTasks({ after, upTo, limit }, { signal });
      yield* page;
      count += page.length;
      after = page.length < limit ? null : (page.at(-1) ?? null);
    }
  }
}

/** @returns the units whose target is not the usual one of their source */
async function compareTargets(
  { thread }: ReviewPorts,
  signal: AbortSignal,
  onCompared: (units: number) => void,
): Promise<number> {
  let inconsistent = 0;
  let units = 0;
  let after: Uint8Array | null = null;
  do {
    const part: ConsistencyPart = await thread.compareTargets(after, { signal });
    inconsistent += part.inconsistent;
    units += part.units;
    after = part.next;
    onCompared(units);
  } while (after !== null);
  return inconsistent;
}
