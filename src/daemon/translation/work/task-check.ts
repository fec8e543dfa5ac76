import { findInconsistentTargets } from '../../../domain/text/checks/find-inconsistent-targets.ts';
import { unitIdText } from '../../parse/index/unit-id-text.ts';
import { createFindingsWriter, createNewJudgements, INCONSISTENT_TARGET } from './new-judgement.ts';
import { createTaskReasons } from './requalified-reason.ts';
import type { BegunReview } from './review.ts';
import type { ReviewTools } from './review-tools.ts';
import { targetOf, type StoredTarget } from './target-rows.ts';

/** The changes of a check of the targets of a task. */
export interface CheckDone {
  readonly units: number;
  /** Units whose findings are others than before. */
  readonly changed: number;
  /** Units that are blocked now and were not before. */
  readonly blocked: number;
}

/** The result of a part of the comparison of targets. */
export interface ConsistencyPart {
  /** The source digest after which the next part begins; `null` at the end. */
  readonly next: Uint8Array | null;
  readonly units: number;
  /** Units whose target is not the usual one of their source. */
  readonly inconsistent: number;
}

/** Checks of stored targets. They store findings and accept nothing. */
export interface TaskCheck {
  /** Ids of tasks that are translated, from a place on. */
  translatedTasks(query: { readonly after: number; readonly limit: number }): readonly {
    readonly taskSeq: number;
    readonly taskId: string;
  }[];
  /** Collects the targets of a task to be judged. */
  begin(taskSeq: number): BegunReview;
  /** Stores the judgements of collected targets that have not changed meanwhile. */
  apply(reviewId: string, now: number): CheckDone;
  /** Compares the targets of equal sources of the current tasks, part by part. */
  compare(after: Uint8Array | null): ConsistencyPart;
}

/** Targets of one part of the comparison. */
const PART_TARGETS = 2000;

/** Creates the checks of one target language. */
export function createTaskCheck(tools: ReviewTools): TaskCheck {
  const { database, targetLanguage, targets, counts, rows, createId } = tools;
  const translated = database.prepare(`SELECT task_seq, task_id FROM task
    WHERE is_visible = 1 AND status = 'translated' AND target_language = ? AND task_seq > ?
    ORDER BY task_seq LIMIT ?`);
  const taskOf = database.prepare('SELECT task_id, release_id FROM task WHERE task_seq = ?');
  const reasons = createTaskReasons(database, targetLanguage);
  const storeJudgement = createNewJudgements(tools);
  return {
    translatedTasks: ({ after, limit }) =>
      translated
        .all(targetLanguage, after, limit)
        .map((row) => ({ taskSeq: Number(row['task_seq']), taskId: String(row['task_id']) })),
    begin: (taskSeq) =>
      database.transaction(() => {
        const reviewId = createId();
        return { isRefused: false, reviewId, units: rows.addTask(reviewId, taskSeq) };
      }),
    apply: (reviewId, now) =>
      database.transaction(() => {
        const done = { units: 0, changed: 0, blocked: 0 };
        for (const taskSeq of rows.tasks(reviewId)) {
          const task = taskOf.get(taskSeq);
          if (task === undefined) continue;
          const place = { taskId: String(task['task_id']), releaseId: String(task['release_id']) };
          for (const { unitId, revision, ...judgement } of rows.each(reviewId, taskSeq)) {
            if (judgement.judgedBy === null) continue;
            const target = targets.get(unitId);
            if (target === null || target.revision !== revision || target.state === 'stale') continue;
            const { findings, qaIdentity, judgedBy } = judgement;
            const change = storeJudgement(
              target,
              { findings, qaIdentity, judgedBy, ...place, cause: 'checked again' },
              now,
            );
            done.units += 1;
            if (change !== null) done.changed += 1;
            if (change === 'blocked') done.blocked += 1;
          }
          reasons.write(taskSeq);
        }
        counts.refresh(now);
        return done;
      }),
    compare: createComparison(tools),
  };
}

/** Creates the comparison of the targets of equal sources. */
function createComparison({ database, targetLanguage }: ReviewTools): TaskCheck['compare'] {
  const writeFindings = createFindingsWriter(database, targetLanguage);
  const part = database.prepare(`SELECT * FROM target WHERE target_language = ? AND source_digest > ?
    AND state <> 'stale' AND EXISTS (SELECT 1 FROM task_unit JOIN task USING (task_seq)
      WHERE task_unit.unit_id = target.unit_id AND is_visible = 1 AND stored_status IS NOT 'superseded')
    ORDER BY source_digest LIMIT ${PART_TARGETS}`);
  const ofSource = database.prepare(`SELECT * FROM target WHERE target_language = ? AND source_digest = ?
    AND state <> 'stale' AND EXISTS (SELECT 1 FROM task_unit JOIN task USING (task_seq)
      WHERE task_unit.unit_id = target.unit_id AND is_visible = 1 AND stored_status IS NOT 'superseded')
    ORDER BY unit_id`);
  const readPart = (after: Uint8Array): { targets: StoredTarget[]; next: Uint8Array | null } => {
    const found = part.all(targetLanguage, after).map(targetOf);
    const last = found.at(-1)?.sourceDigest ?? null;
    if (last === null || found.length < PART_TARGETS) return { targets: found, next: null };
    // The next part may have more targets of the last source.
    const complete = found.filter(({ sourceDigest }) => Buffer.compare(sourceDigest, last) !== 0);
    const next = complete.at(-1)?.sourceDigest ?? null;
    if (next !== null) return { targets: complete, next };
    return { targets: ofSource.all(targetLanguage, last).map(targetOf), next: last };
  };
  return (after) =>
    database.transaction(() => {
      const { targets, next } = readPart(after ?? new Uint8Array());
      const units = targets.map(({ unitId, sourceText, text }) => ({
        unit_id: unitIdText(unitId),
        source: sourceText,
        target: text,
      }));
      const found = new Map(
        [...findInconsistentTargets(units)].map(({ unit_id, finding }) => [unit_id, finding]),
      );
      for (const target of targets) {
        const finding = found.get(unitIdText(target.unitId));
        const others = target.findings.filter(({ check }) => check !== INCONSISTENT_TARGET);
        const own = finding === undefined ? [] : [{ ...finding, origin: 'target' as const }];
        writeFindings(target, [...others, ...own], target.qaIdentity);
      }
      return { next, units: targets.length, inconsistent: found.size };
    });
}
