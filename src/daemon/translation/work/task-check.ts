import { findInconsistentTargets } from '../../../domain/text/checks/find-inconsistent-targets.ts';
import { requalify } from '../../../domain/translation/requalify.ts';
import { unitIdText } from '../../parse/index/unit-id-text.ts';
import type { BegunReview } from './review.ts';
import type { ReviewTools } from './review-tools.ts';
import { NO_PROVENANCE, targetOf, type Finding, type StoredTarget } from './target-rows.ts';

/** The name of the finding of one source with several targets. */
export const INCONSISTENT_TARGET = 'inconsistent_target';

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
  const { database, targetLanguage, targets, counts, rows, accepted, createId } = tools;
  const translated = database.prepare(`SELECT task_seq, task_id FROM task
    WHERE is_visible = 1 AND status = 'translated' AND target_language = ? AND task_seq > ?
    ORDER BY task_seq LIMIT ?`);
  const setFindings = database.prepare(
    'UPDATE target SET findings = ?, qa_identity = ? WHERE unit_id = ? AND target_language = ?',
  );
  const store = (target: StoredTarget, findings: readonly Finding[], qaIdentity: string | null): boolean => {
    const text = JSON.stringify(findings);
    if (text === JSON.stringify(target.findings) && qaIdentity === target.qaIdentity) return false;
    setFindings.run(text, qaIdentity, target.unitId, targetLanguage);
    return true;
  };
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
        for (const row of rows.each(reviewId)) {
          const target = targets.get(row.unitId);
          if (target === null || target.revision !== row.revision || target.state === 'stale') continue;
          done.units += 1;
          const others = target.findings.filter(({ check }) => check === INCONSISTENT_TARGET);
          const findings = [...row.findings, ...others];
          const blocking = accepted.blocking({ ...row, findings });
          const change = requalify(target, blocking.length > 0);
          if (change === null) {
            if (store(target, findings, row.qaIdentity)) done.changed += 1;
            continue;
          }
          const { glossaryGeneration, qaIdentity } = row;
          const checks = [...new Set(blocking.map(({ check }) => check))].join(', ');
          const reason =
            change.state === 'blocked' ? `checked again: ${checks}` : 'checked again: nothing blocks it now';
          targets.put(
            { ...target, ...change, findings, qaIdentity, updatedAt: now },
            { ...NO_PROVENANCE, reason, glossaryGeneration },
          );
          done.changed += 1;
          if (change.state === 'blocked') done.blocked += 1;
        }
        counts.refresh(now);
        return done;
      }),
    compare: createComparison(tools, store),
  };
}

/** Creates the comparison of the targets of equal sources. */
function createComparison(
  { database, targetLanguage }: ReviewTools,
  store: (target: StoredTarget, findings: readonly Finding[], qaIdentity: string | null) => boolean,
): TaskCheck['compare'] {
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
        store(target, [...others, ...own], target.qaIdentity);
      }
      return { next, units: targets.length, inconsistent: found.size };
    });
}
