import { countText } from '../../../../domain/count-text.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { createAcceptedFindings } from '../store/accepted-findings.ts';
import { createFileReview } from './file-review.ts';
import { createProofreadContainers } from '../store/proofread-containers.ts';
import { keptFindings } from '../store/new-judgement.ts';
import { NAMED_UNITS, UpdateRefused, refuse } from '../store/task-update.ts';
import type { RefusedLine, ReviewDone, ReviewedUnit, TaskReview, TaskReviewer } from './review.ts';
import { createReviewRows, stagedRowOf } from './review-rows.ts';
import type { ReviewTools } from './review-tools.ts';
import type { WorkTools } from '../store/work-tools.ts';
import { createReviewRules } from './review-rules.ts';
import { createReviewWriter, type ReviewWriter } from './review-writer.ts';
import type { Row } from '../store/target-rows.ts';
import { createTaskCheck, type TaskCheck } from './task-check.ts';
import { taskFields } from '../store/task-page.ts';
import type { PlacedUnits } from '../update/update-units.ts';

/** Units that the list of a refusal has. */
const LISTED_UNITS = 100;
/** Units that the result lists. */
const RESULT_UNITS = 1000;

/** The reviews of one target language, and the checks of targets without a review. */
export interface Reviews extends TaskReviewer, TaskCheck {}

/** Creates the reviews of one target language. The collected targets of interrupted ones are forgotten. */
export function createReviews(work: WorkTools): Reviews {
  const { database, targetLanguage } = work;
  const containers = createProofreadContainers(database, targetLanguage);
  const rows = createReviewRows(database, targetLanguage, containers);
  const accepted = createAcceptedFindings(database, targetLanguage);
  const tools = { ...work, rows, containers, accepted };
  rows.remove(null);
  return { ...createTaskReviewer(tools), ...createTaskCheck(tools) };
}

function createTaskReviewer(tools: ReviewTools): TaskReviewer {
  const { database, createId, rows } = tools;
  const examine = createReviewRules(tools);
  const apply = createApply(tools);
  return {
    beginReview: (review) =>
      database.transaction(() => {
        const examined = examine(review);
        if (examined.isRefused) return examined;
        const reviewId = createId();
        const { task, units } = examined;
        const count =
          review.results.length === 0
            ? rows.addTask(reviewId, Number(task['task_seq']))
            : collect(tools, reviewId, review, units);
        return { isRefused: false, reviewId, units: count };
      }),
    ...createFileReview(tools),
    reviewPage: ({ reviewId, after }) => rows.page(reviewId, after),
    storeReviewJudgements: ({ reviewId, taskSeq, by, rows: judged }) => {
      rows.judge(reviewId, taskSeq, by, judged);
    },
    applyReview: ({ reviewId, review }) => {
      try {
        const done = database.transaction(
          () => {
            const examined = examine(review);
            if (examined.isRefused) return examined;
            return apply(reviewId, review, examined.task, examined.units, tools.now());
          },
          { isTrial: review.isTrial },
        );
        if (review.isTrial) tools.counts.discard();
        return done;
      } catch (error) {
        tools.counts.discard();
        if (error instanceof UpdateRefused) return error.refusal;
        throw error;
      }
    },
  };
}

function collect(
  { rows, targets }: ReviewTools,
  reviewId: string,
  { results }: TaskReview,
  units: PlacedUnits,
): number {
  for (const [line, result] of results.entries()) {
    const place = units.at(result.unitId);
    const revision = targets.get(place.unitId)?.revision ?? 0;
    rows.add(reviewId, { ...result, place, line, requestedId: result.unitId, revision });
  }
  return results.length;
}

type Apply = (reviewId: string, review: TaskReview, task: Row, units: PlacedUnits, now: number) => ReviewDone;

function createApply(tools: ReviewTools): Apply {
  const { database, counts, rows, targets, containers } = tools;
  const taskOf = database.prepare('SELECT * FROM task WHERE task_seq = ?');
  const writer = createReviewWriter(tools, 'person');
  const decide = createReviewDecisions(tools);
  const settle = createStatusWriter(database);
  return (reviewId, review, task, units, now) => {
    const isAccepted = review.decision === 'accept';
    if (isAccepted) {
      decide.override(reviewId, review, now);
      decide.waive(reviewId, review, units, now);
    }
    requireCurrent(rows.tasks(reviewId).map((seq) => taskOf.get(seq)));
    requireFree(tools, reviewId, review, writer);
    const reviewed: ReviewedUnit[] = [];
    let written = 0;
    let count = 0;
    for (const row of rows.each(reviewId)) {
      count += 1;
      const isChanged = isAccepted ? writer.accept(task, row, review) : writer.giveBack(task, row, review);
      if (isChanged) written += 1;
      if (reviewed.length >= RESULT_UNITS) continue;
      const { unitId, requestedId } = row;
      const target = targets.get(unitId);
      reviewed.push({
        unitId,
        requestedId,
        revision: target?.revision ?? 0,
        state: target?.state ?? 'untranslated',
      });
    }
    decide.hold(review, units, now);
    const seqs = rows.tasks(reviewId);
    for (const seq of seqs) {
      const each = taskOf.get(seq) ?? {};
      settle(each, review);
      if (isAccepted) {
        const archiveEntry = each['archive_entry'] as string | null;
        containers.add(String(each['destination']), archiveEntry, now);
      }
      counts.touch(seq);
    }
    counts.refresh(now);
    return {
      isRefused: false,
      task: taskFields(taskOf.get(Number(task['task_seq'])) ?? task),
      appliedTo:
        task['stored_status'] === 'superseded'
          ? seqs.map((seq) => String(taskOf.get(seq)?.['task_id'] ?? ''))
          : [],
      written,
      repeated: count - written,
      units: reviewed,
      event: review.isTrial ? null : tools.eventOf({ hasMoved: true }),
    };
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
function requireFree(
  { rows }: ReviewTools,
  reviewId: string,
  review: TaskReview,
  writer: ReviewWriter,
): void {
  const refused = new Map<RefusedLine['code'], { count: number; readonly lines: RefusedLine[] }>();
  for (const row of rows.each(reviewId)) {
    const refusal = writer.refusalOf(row, review, review.decision);
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

interface ReviewDecisions {
  override(reviewId: string, review: TaskReview, now: number): void;
  waive(reviewId: string, review: TaskReview, units: PlacedUnits, now: number): void;
  hold(review: TaskReview, units: PlacedUnits, now: number): void;
}

function createReviewDecisions({
  database,
  targetLanguage,
  targets,
  accepted,
}: ReviewTools): ReviewDecisions {
  const covered = database.prepare('SELECT unit_id FROM review_row WHERE review_id = ? AND qa_identity = ?');
  const identities = database.prepare(`SELECT DISTINCT qa_identity FROM review_row
    WHERE review_id = ? AND instr(findings, '"origin":"glossary"') > 0 LIMIT ${NAMED_UNITS}`);
  const rowOf = database.prepare(
    `SELECT * FROM review_row WHERE review_id = ? AND task_seq = ? AND number = ?`,
  );
  const hold = database.prepare('INSERT OR IGNORE INTO hold VALUES (?, ?, ?, ?, ?)');
  return {
    override: (reviewId, review, now) => {
      const { override } = review;
      if (override === null) return;
      const units = covered.all(reviewId, override.qaIdentity);
      if (units.length === 0) {
        const known = identities.all(reviewId).map((row) => String(row['qa_identity']));
        throw new UpdateRefused(
          refuse(
            'override_stale',
            `no unit of this review has the qa_identity of the override; the current ones with findings of the Glossary are: ${known.join(', ') || 'none'}`,
          ),
        );
      }
      for (const row of units) accepted.override(row['unit_id'] as Uint8Array, review, now);
    },
    waive: (reviewId, review, units, now) => {
      for (const { unitId: named, check, pointer } of review.waive) {
        const { taskSeq, number } = units.at(named);
        const row = rowOf.get(reviewId, taskSeq, number);
        const target = row === undefined ? null : stagedRowOf(row);
        const stored = target === null ? null : targets.get(target.unitId);
        const kept = stored !== null && stored.text === target?.text ? keptFindings(stored) : [];
        const findings = [...(target?.findings ?? []), ...kept];
        const isFound = findings.some((each) => each.check === check && each.waivable);
        if (target === null || !isFound) {
          const message = `the review has no target with a finding "${check}" that can be waived for this unit`;
          throw new UpdateRefused(refuse('invalid_request', message, [{ pointer, message }]));
        }
        accepted.waive(target, check, review, now);
      }
    },
    hold: (review, units, now) => {
      for (const { unitId } of review.hold) {
        hold.run(units.at(unitId).unitId, targetLanguage, review.reviewer, review.reason, now);
      }
    },
  };
}

/** Stores what a review says about its task. The units decide its status, unless it was returned. */
function createStatusWriter(database: Database): (task: Row, review: TaskReview) => void {
  const set = database.prepare('UPDATE task SET stored_status = ?, reason = ? WHERE task_seq = ?');
  const open = database.prepare(
    'SELECT untranslated + draft + translated + blocked + stale AS open FROM task WHERE task_seq = ?',
  );
  return (task, { decision, results, reason }) => {
    const seq = Number(task['task_seq']);
    const before = task['stored_status'] as string | null;
    if (before === 'superseded') return;
    const isWhole = results.length === 0;
    if (decision === 'return') {
      set.run(isWhole ? 'pending' : 'in_progress', reason, seq);
    } else if (isWhole || Number(open.get(seq)?.['open']) === 0) {
      set.run(null, reason, seq);
    } else if (before === 'pending' || before === 'failed') {
      set.run(null, task['reason'] as string | null, seq);
    }
  };
}
