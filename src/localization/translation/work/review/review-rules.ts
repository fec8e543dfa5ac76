import { isClosed, type TranslationTaskStatus } from '../../../../domain/translation/task-status.ts';
import { countText } from '../../../../domain/count-text.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import type { TaskReview } from './review.ts';
import type { Row } from '../store/target-rows.ts';
import { getTarget } from '../store/target-store.ts';
import { refuse, type UpdateRefusal } from '../store/task-update.ts';
import type { Work } from '../store/work.ts';
import { checkRevisions, checkSources } from '../update/update-rules.ts';
import { placeUnits, unknownTask, visibleTask, type PlacedUnits } from '../update/update-units.ts';

interface ExaminedReview {
  readonly isRefused: false;
  readonly task: Row;
  readonly units: PlacedUnits;
}

/** Statuses in which a whole task can be accepted. */
const COMPLETE: ReadonlySet<TranslationTaskStatus> = new Set([
  'blocked',
  'translated',
  'proofread',
  'published',
]);

/** Examines a review, the findings and the authors of targets aside. */
export function examineReview(work: Work, review: TaskReview): ExaminedReview | UpdateRefusal {
  const task = visibleTask(work, review.taskId);
  if (task === undefined) return unknownTask(review.taskId);
  const refusal = checkStatus(task, review);
  if (refusal !== null) return refusal;
  const units = placeUnits(work, task, review);
  if (units.isRefused) return units;
  return (
    checkSources(review.results, units) ??
    checkRevisions(work, review, units) ??
    checkReturned(work, review, units) ?? { isRefused: false, task, units }
  );
}

function checkStatus(task: Row, { decision, results }: TaskReview): UpdateRefusal | null {
  const status = task['status'] as TranslationTaskStatus;
  const isWhole = results.length === 0;
  if (status === 'superseded' && !isWhole) return null;
  const name = decision === 'accept' ? 'accepted' : 'returned';
  if (isClosed(status)) {
    return refuse('invalid_transition', `the task is ${status}, and its units cannot be ${name}`);
  }
  if (decision === 'return' || !isWhole) return null;
  const missing = Number(task['untranslated']) + Number(task['stale']);
  if (missing > 0) {
    return refuse(
      'invalid_transition',
      `${countText(missing, 'unit of the task has', 'units of the task have')} no target for the present text, so that it cannot be accepted as a whole; name the units to accept in translation_results`,
    );
  }
  if (COMPLETE.has(status)) return null;
  return refuse(
    'invalid_transition',
    `the task is ${status} and cannot be accepted as a whole before it is translated; name the units to accept in translation_results`,
  );
}

/** A return is about the target that the reviewer has read, so another one refuses it. */
function checkReturned(
  work: Work,
  { decision, results }: TaskReview,
  units: PlacedUnits,
): UpdateRefusal | null {
  if (decision === 'accept') return null;
  const differing = results.filter(
    ({ unitId, text }) => getTarget(work, units.at(unitId).unitId)?.text !== text,
  );
  if (differing.length === 0) return null;
  const ids = differing.slice(0, 20).map(({ unitId }) => unitIdText(unitId));
  return refuse(
    'revision_changed',
    `the targets of ${differing.length} returned units are not the stored ones: ${ids.join(', ')}; read these units again`,
    differing
      .slice(0, 100)
      .map(({ pointer }) => ({ pointer: `${pointer}/translated_text`, message: 'is not the stored target' })),
  );
}
