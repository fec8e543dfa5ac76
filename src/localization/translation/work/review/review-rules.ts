import { isClosed, type TranslationTaskStatus } from '../../../../domain/translation/task-status.ts';
import { countText } from '../../../../domain/count-text.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import type { TaskReview } from './review.ts';
import type { Row } from '../store/target-rows.ts';
import type { TargetStore } from '../store/target-store.ts';
import { refuse, type UpdateRefusal } from '../store/task-update.ts';
import type { WorkTools } from '../store/work-tools.ts';
import { checkRevisions, checkSources } from '../update/update-rules.ts';
import { createUnitFinder, type PlacedUnits } from '../update/update-units.ts';

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

/** Creates the examination of reviews, the findings and the authors of targets aside. */
export function createReviewRules({
  database,
  targetLanguage,
  targets,
}: WorkTools): (review: TaskReview) => ExaminedReview | UpdateRefusal {
  const taskOf = database.prepare(
    'SELECT * FROM task WHERE task_id = ? AND target_language = ? AND is_visible = 1',
  );
  const placeUnits = createUnitFinder(database);
  return (review) => {
    const task = taskOf.get(review.taskId, targetLanguage);
    if (task === undefined) {
      return refuse(
        'unknown_translation_task',
        `no translation task has the id "${review.taskId.slice(0, 64)}"`,
      );
    }
    const refusal = checkStatus(task, review);
    if (refusal !== null) return refusal;
    const units = placeUnits(task, review);
    if (units.isRefused) return units;
    return (
      checkSources(review, units) ??
      checkRevisions(targets, review, units) ??
      checkReturned(targets, review, units) ?? { isRefused: false, task, units }
    );
  };
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
  targets: Pick<TargetStore, 'get'>,
  { decision, results }: TaskReview,
  units: PlacedUnits,
): UpdateRefusal | null {
  if (decision === 'accept') return null;
  const differing = results.filter(({ unitId, text }) => targets.get(units.at(unitId).unitId)?.text !== text);
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
