import { reasonAfter } from '../../../../domain/translation/task-remark.ts';
import { countText } from '../../../../domain/count-text.ts';
import { UNIT_STATES } from '../../../../domain/translation/unit-state.ts';
import { overrideGlossary, waiveFinding } from '../store/accepted-findings.ts';
import { keptFindings } from '../store/new-judgement.ts';
import { addProofread } from '../store/proofread-containers.ts';
import type { Row } from '../store/target-rows.ts';
import { getTarget } from '../store/target-store.ts';
import { targetsChanged } from '../store/repetition-queue.ts';
import { refreshTasks, taskRow } from '../store/task-counts.ts';
import { taskFields } from '../store/task-page.ts';
import {
  NAMED_UNITS,
  UpdateRefused,
  refuse,
  type UpdateRefusal,
  type UpdatedUnit,
} from '../store/task-update.ts';
import { holdUnit } from '../store/withheld-units.ts';
import type { Work } from '../store/work.ts';
import { transactionOf } from '../update/task-updater.ts';
import type { PlacedUnits } from '../update/update-units.ts';
import type { BegunReview, RefusedLine, ReviewDone, TaskReview } from './review.ts';
import { addRow, addTaskRows, eachRow, removeRows, reviewedTasks, stagedRowOf } from './review-rows.ts';
import { examineReview } from './review-rules.ts';
import { acceptRow, returnRow, rowRefusal } from './review-writer.ts';

const LISTED_UNITS = 100;
const RESULT_UNITS = 1000;

/** Examines a review and collects its targets; changes no target. */
export function beginReview(work: Work, review: TaskReview): BegunReview | UpdateRefusal {
  return work.database.transaction(() => {
    const examined = examineReview(work, review);
    if (examined.isRefused) return examined;
    const reviewId = work.createId();
    const { task, units } = examined;
    const { results } = review;
    if (results.length === 0) {
      return { isRefused: false, reviewId, units: addTaskRows(work, reviewId, Number(task['task_seq'])) };
    }
    for (const [line, result] of results.entries()) {
      const place = units.at(result.unitId);
      const revision = getTarget(work, place.unitId)?.revision ?? 0;
      addRow(work, reviewId, { ...result, place, line, requestedId: result.unitId, revision });
    }
    return { isRefused: false, reviewId, units: results.length };
  });
}

/** Makes a review, all or nothing. Everything is examined again, in one transaction with the change. */
export function applyReview(
  work: Work,
  { reviewId, review }: { readonly reviewId: string; readonly review: TaskReview },
): ReviewDone | UpdateRefusal {
  return transactionOf(work, review.isTrial, () => {
    const examined = examineReview(work, review);
    if (examined.isRefused) return examined;
    return writeReview(work, reviewId, review, examined.task, examined.units);
  });
}

/** Forgets the collected targets of a review. */
export function endReview(work: Work, reviewId: string): void {
  work.refusedTasks.delete(reviewId);
  removeRows(work, reviewId);
}

function writeReview(
  work: Work,
  reviewId: string,
  review: TaskReview,
  task: Row,
  units: PlacedUnits,
): ReviewDone {
  const isAccepted = review.decision === 'accept';
  if (isAccepted) {
    applyOverride(work, reviewId, review);
    waiveFindings(work, reviewId, review, units);
  }
  const seqs = reviewedTasks(work, reviewId);
  requireCurrent(seqs.map((seq) => taskRow(work, seq)));
  requireFree(work, reviewId, review);
  const reviewed: UpdatedUnit[] = [];
  let written = 0;
  let count = 0;
  for (const row of eachRow(work, reviewId)) {
    count += 1;
    const isChanged = isAccepted
      ? acceptRow(work, task, row, review, 'person')
      : returnRow(work, task, row, review);
    if (isChanged) written += 1;
    if (reviewed.length >= RESULT_UNITS) continue;
    const { unitId, requestedId } = row;
    const target = getTarget(work, unitId);
    const [revision, state] = [target?.revision ?? 0, target?.state ?? 'untranslated'];
    reviewed.push({ unitId, requestedId, revision, state });
  }
  for (const { unitId } of review.hold) holdUnit(work, units.at(unitId).unitId, review);
  const tasks = seqs.map((seq) => taskRow(work, seq) ?? {});
  for (const each of tasks) {
    writeStatus(work, each, review);
    if (isAccepted) addProofread(work, String(each['destination']), each['archive_entry'] as string | null);
    work.touched.add(Number(each['task_seq']));
  }
  refreshTasks(work);
  return {
    isRefused: false,
    task: taskFields(taskRow(work, Number(task['task_seq'])) ?? task),
    appliedTo:
      task['stored_status'] === 'superseded' ? tasks.map((each) => String(each['task_id'] ?? '')) : [],
    written,
    repeated: count - written,
    units: reviewed,
    event: review.isTrial ? null : targetsChanged(work, { hasMoved: true }),
  };
}

/** Refuses a review whose tasks were replaced by those of another release since it began. */
function requireCurrent(tasks: readonly (Row | undefined)[]): void {
  if (tasks.every((task) => task !== undefined && task['stored_status'] !== 'superseded')) return;
  throw new UpdateRefused(
    refuse('revision_changed', 'a newer release has replaced the tasks during the review; send it again'),
  );
}

/** Refuses a review of which a unit cannot be accepted or returned. */
function requireFree(work: Work, reviewId: string, review: TaskReview): void {
  const refused = new Map<RefusedLine['code'], { count: number; readonly lines: RefusedLine[] }>();
  for (const row of eachRow(work, reviewId)) {
    const refusal = rowRefusal(work, row, review, review.decision);
    if (refusal === null) continue;
    const others = refused.get(refusal.code) ?? { count: 0, lines: [] };
    others.count += 1;
    if (others.lines.length < LISTED_UNITS) others.lines.push(refusal);
    refused.set(refusal.code, others);
  }
  const code = REFUSALS.find((each) => refused.has(each));
  if (code === undefined) return;
  const { count, lines } = refused.get(code) ?? { count: 0, lines: [] };
  const pointerOf = ({ line }: RefusedLine): string =>
    review.results.length === 0 ? '/task_id' : `/translation_results/${line}`;
  throw new UpdateRefused(
    refuse(
      code,
      `${countText(count, ...REFUSED_UNITS[code])} ${REFUSED_FOR[code]}: ${lines
        .slice(0, NAMED_UNITS)
        .map(({ message }) => message)
        .join(', ')}`,
      lines.map((line) => ({ pointer: pointerOf(line), message: line.message })),
    ),
  );
}

/** The order in which refusals of several kinds are named. */
const REFUSALS = ['revision_changed', 'lease_held', 'qa_blocked', 'four_eyes_required'] as const;

/** One unit and several, each with its verb. */
const REFUSED_UNITS: Readonly<Record<RefusedLine['code'], readonly [one: string, many: string]>> = {
  revision_changed: ['unit was', 'units were'],
  lease_held: ['unit is', 'units are'],
  qa_blocked: ['unit has', 'units have'],
  four_eyes_required: ['unit is', 'units are'],
};

const REFUSED_FOR: Readonly<Record<RefusedLine['code'], string>> = {
  revision_changed: 'changed during the review; read again',
  lease_held: 'being worked on',
  qa_blocked: 'blocking findings; correct, waive or override them',
  four_eyes_required: 'the own work of this token, which another token must accept',
};

const COVERED = 'SELECT unit_id FROM review_row WHERE review_id = ? AND qa_identity = ?';
const IDENTITIES = `SELECT DISTINCT qa_identity FROM review_row
  WHERE review_id = ? AND instr(findings, '"origin":"glossary"') > 0 LIMIT ${NAMED_UNITS}`;

function applyOverride(work: Work, reviewId: string, review: TaskReview): void {
  const { override } = review;
  if (override === null) return;
  const units = work.sql(COVERED).all(reviewId, override.qaIdentity);
  if (units.length === 0) {
    const known = work
      .sql(IDENTITIES)
      .all(reviewId)
      .map((row) => String(row['qa_identity']));
    throw new UpdateRefused(
      refuse(
        'override_stale',
        `no unit of this review has the qa_identity of the override; the current ones with findings of the Glossary are: ${known.join(', ') || 'none'}`,
      ),
    );
  }
  for (const row of units) overrideGlossary(work, row['unit_id'] as Uint8Array, override, review);
}

function waiveFindings(work: Work, reviewId: string, review: TaskReview, units: PlacedUnits): void {
  for (const { unitId: named, check, pointer } of review.waive) {
    const { taskSeq, number } = units.at(named);
    const row = work
      .sql('SELECT * FROM review_row WHERE review_id = ? AND task_seq = ? AND number = ?')
      .get(reviewId, taskSeq, number);
    const target = row === undefined ? null : stagedRowOf(row);
    const stored = target === null ? null : getTarget(work, target.unitId);
    const kept = stored !== null && stored.text === target?.text ? keptFindings(stored.findings) : [];
    const findings = [...(target?.findings ?? []), ...kept];
    const isFound = findings.some((each) => each.check === check && each.waivable);
    if (target === null || !isFound) {
      const message = `the review has no target with a finding "${check}" that can be waived for this unit`;
      throw new UpdateRefused(refuse('invalid_request', message, [{ pointer, message }]));
    }
    waiveFinding(work, target, check, review);
  }
}

/** Stores the decision of a review about a task. The units decide its status, unless it was returned. */
function writeStatus(work: Work, task: Row, { decision, results, reason }: TaskReview): void {
  const seq = Number(task['task_seq']);
  const before = task['stored_status'] as string | null;
  const said = task['reason'] as string | null;
  if (before === 'superseded') return;
  const isWhole = results.length === 0;
  const set = work.sql('UPDATE task SET stored_status = ?, reason = ? WHERE task_seq = ?');
  if (decision === 'return') {
    set.run(isWhole ? 'pending' : 'in_progress', reason, seq);
  } else if (isWhole || isProofread(task)) {
    set.run(null, reasonAfter(said, reason), seq);
  } else if (before === 'pending' || before === 'failed') {
    set.run(null, said, seq);
  }
}

function isProofread(task: Row): boolean {
  return UNIT_STATES.every((state) => state === 'proofread' || Number(task[state]) === 0);
}
