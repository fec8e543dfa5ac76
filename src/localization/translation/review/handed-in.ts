import type { TargetOffers } from '../judge/offer-targets.ts';
import type { UnitSource } from '../judge/unit-source.ts';
import type { TranslationThread } from '../work/translation-worker.ts';
import { offeredTargets, reviewPages, sourcesOf } from './review-pages.ts';

interface HandInPorts {
  readonly thread: TranslationThread;
  readonly units: UnitSource;
  readonly offers: TargetOffers;
}

interface HandedIn {
  readonly taskId: string;
  readonly tokenId: string | null;
}

/**
 * Offers what people wrote for a task that was handed in as a whole to the Translation Memory. What they typed before was no
 * translation yet.
 *
 * @returns whether the memory took it
 * @throws TaskError `text_not_indexed`; errors of the translation thread
 */
export async function offerHandedIn(
  { thread, units, offers }: HandInPorts,
  { taskId, tokenId }: HandedIn,
): Promise<boolean> {
  const begun = await thread.beginReview({
    taskId,
    tokenId,
    decision: 'accept',
    reviewer: '',
    reason: null,
    fourEyes: false,
    override: null,
    results: [],
    expect: [],
    waive: [],
    hold: [],
    isTrial: true,
  });
  // Someone has moved the task on meanwhile, and hands it in again or accepts it.
  if (begun.isRefused) return true;
  try {
    let isTaken = true;
    for await (const page of reviewPages(thread, begun.reviewId)) {
      const sources = await sourcesOf(units, page);
      const written = offeredTargets(page, sources).filter(({ author }) => author?.kind === 'person');
      isTaken = (await offers.offer(written, 'task_update', page.releaseId)) && isTaken;
    }
    return isTaken;
  } finally {
    await thread.endReview(begun.reviewId).catch(() => undefined);
  }
}
