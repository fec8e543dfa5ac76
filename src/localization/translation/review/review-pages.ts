import { unitIdText } from '../../unit-id-text.ts';
import type { OfferedTarget } from '../judge/offer-targets.ts';
import type { TargetJudge } from '../judge/target-judge.ts';
import type { SourceUnit, UnitSource } from '../judge/unit-source.ts';
import type { ReviewPage, ReviewPlace, ReviewRow } from '../work/review/review.ts';
import type { TranslationThread } from '../work/translation-worker.ts';

/** The parts that reviews use. */
export interface ReviewPorts {
  readonly thread: TranslationThread;
  readonly judge: TargetJudge;
  readonly units: UnitSource;
}

/** Reads the collected targets of a review, page by page, after a place. */
export async function* reviewPages(
  thread: ReviewPorts['thread'],
  reviewId: string,
  signal?: AbortSignal,
  place: ReviewPlace | null = null,
): AsyncGenerator<ReviewPage> {
  let after = place;
  for (;;) {
    const page: ReviewPage | null = await thread.reviewPage({ reviewId, after }, { signal });
    const last: ReviewRow | undefined = page?.rows.at(-1);
    if (page === null || last === undefined) return;
    yield page;
    after = { taskSeq: page.taskSeq, number: last.number };
  }
}

/**
 * Reads the units of a page, each with its neighbours, in the order of the rows.
 *
 * @throws TaskError `text_not_indexed`; the signal's reason
 */
export async function sourcesOf(
  units: UnitSource,
  { releaseId, generation, destination, rows }: ReviewPage,
  signal?: AbortSignal,
): Promise<readonly SourceUnit[]> {
  const ordinals = rows.map(({ ordinal }) => ordinal);
  return await units.unitsOf({ releaseId, generation, destination, ordinals, neighbours: 1 }, signal);
}

/**
 * Judges the collected targets of a review, and stores the judgements with them.
 *
 * @param onJudged hears how many targets are judged
 * @throws TaskError `text_not_indexed`; ServiceError of the judge; the signal's reason
 */
export async function judgeReview(
  { thread, judge, units }: ReviewPorts,
  reviewId: string,
  signal?: AbortSignal,
  onJudged: (count: number) => void = () => undefined,
): Promise<void> {
  let count = 0;
  for await (const page of reviewPages(thread, reviewId, signal)) {
    const { taskSeq, rows, wasProofread } = page;
    const sources = await sourcesOf(units, page, signal);
    const texts = rows.map(({ sourceText, text }, at) => ({
      place: placed(sources, at).unit,
      sourceText,
      targetText: text,
    }));
    const { by, judgements } = await judge.judge(texts, { wasProofread, signal });
    const judged = rows.map(({ number }, at) => {
      const judgement = judgements[at];
      if (judgement === undefined) throw new Error('the judge gave fewer judgements than texts');
      return { number, ...judgement };
    });
    const batch = { reviewId, taskSeq, by, rows: judged };
    await thread.storeReviewJudgements(batch, { signal });
    count += rows.length;
    onJudged(count);
  }
}

/** The collected targets of a page as the Translation Memory takes them. @param sources of the rows, see {@link sourcesOf} */
export function offeredTargets(
  { rows, taskId }: ReviewPage,
  sources: readonly SourceUnit[],
): readonly OfferedTarget[] {
  return rows.map(({ unitId, text, author }, at) => ({
    source: placed(sources, at),
    unitId: unitIdText(unitId),
    targetText: text,
    author,
    provider: null,
    provider_run_id: null,
    task_id: taskId,
  }));
}

/** The unit of a row. */
export function placed(sources: readonly SourceUnit[], at: number): SourceUnit {
  const source = sources[at];
  if (source === undefined) throw new Error('the parse index gave fewer units than ordinals');
  return source;
}
