import { unitIdText } from '../../unit-id-text.ts';
import type { TaskResult } from '../../../engine/tasks/task.ts';
import type { TaskReview } from '../work/review/review.ts';
import { requireAccepted } from '../work/translation-failure.ts';
import { judgeReview } from './review-pages.ts';
import { settleMemory, type MemoryPorts } from './settle-memory.ts';

/**
 * Accepts or returns units of a task. Targets to accept are judged again first. A trial changes nothing.
 *
 * @throws ServiceError with the reason of a refusal; errors of the translation thread, TaskError of the parse index
 */
export async function reviewTask(ports: MemoryPorts, review: TaskReview): Promise<TaskResult> {
  const { thread } = ports;
  const { reviewId } = requireAccepted(await thread.beginReview(review));
  try {
    if (review.decision === 'accept') await judgeReview(ports, reviewId);
    const done = requireAccepted(await thread.applyReview({ reviewId, review }));
    const memory = review.isTrial
      ? {}
      : { memory: await settleMemory(ports, { reviewId, decision: review.decision, by: review }) };
    return {
      ...(review.isTrial ? { dry_run: true } : {}),
      task: done.task,
      decision: review.decision === 'accept' ? 'accepted' : 'returned',
      written: done.written,
      repeated: done.repeated,
      units: done.units.map(({ unitId, revision, state }) => ({
        unit_id: unitIdText(unitId),
        revision,
        state,
      })),
      ...(done.appliedTo.length === 0 ? {} : { applied_to: done.appliedTo }),
      ...memory,
    };
  } finally {
    await thread.endReview(reviewId).catch(() => undefined);
  }
}
