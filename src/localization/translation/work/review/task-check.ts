import { findInconsistentTargets } from '../../../../domain/text/checks/find-inconsistent-targets.ts';
import type { TargetsChanged } from '../../../text-events.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import { lastRepetition } from '../build/repetition-digest.ts';
import { writeReason } from '../repetition/requalified-reason.ts';
import { INCONSISTENT_TARGET, storeJudgement, writeFindings } from '../store/new-judgement.ts';
import { sameBytes, targetOf, type StoredTarget } from '../store/target-rows.ts';
import { getTarget } from '../store/target-store.ts';
import { targetsChanged } from '../store/repetition-queue.ts';
import { refreshTasks, taskRow } from '../store/task-counts.ts';
import type { Work } from '../store/work.ts';
import type { BegunReview } from './review.ts';
import { addTaskRows, eachRow, reviewedTasks } from './review-rows.ts';

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
  /** The repetition after which the next part begins; `null` at the end. */
  readonly next: Uint8Array | null;
  readonly units: number;
  /** Units whose target is not the usual one of their source. */
  readonly inconsistent: number;
}

/** How far the runs until now have come. */
export interface CheckPlace {
  /** The last task; -1 before the first. */
  readonly taskSeq: number;
  /** The last unit of this task, where a run ended within it; `null`: the task is done. */
  readonly number: number | null;
}

/** The two kinds of task checks. Each one goes through all tasks independently. */
export type CheckName = 'checked' | 'evaluated';

/** The tasks that are translated, after a place and up to another one. @param query.upTo `null`: to the last one */
export function translatedTasks(
  work: Work,
  query: { readonly after: number; readonly upTo: number | null; readonly limit: number },
): readonly number[] {
  return work
    .sql(
      `SELECT task_seq FROM task
      WHERE is_visible = 1 AND status = 'translated' AND target_language = :language AND task_seq > :after
      AND coalesce(task_seq <= :upTo, 1) ORDER BY task_seq LIMIT :limit`,
    )
    .all({ ...query, language: work.targetLanguage })
    .map((row) => Number(row['task_seq']));
}

/** How far the checks of a kind have come. */
export function checkCursor(work: Work, name: CheckName): CheckPlace {
  const row = work
    .sql('SELECT task_seq, number FROM check_cursor WHERE name = ? AND target_language = ?')
    .get(name, work.targetLanguage);
  const number = row?.['number'] ?? null;
  return { taskSeq: Number(row?.['task_seq'] ?? -1), number: number === null ? null : Number(number) };
}

/** Stores how far the checks of a kind have come. */
export function setCheckCursor(
  work: Work,
  { name, place: { taskSeq, number } }: { readonly name: CheckName; readonly place: CheckPlace },
): void {
  const write = work.sql(
    'INSERT OR REPLACE INTO check_cursor (name, target_language, task_seq, number) VALUES (?, ?, ?, ?)',
  );
  // A power failure may lose it: some units are checked once more then.
  work.database.transaction(() => write.run(name, work.targetLanguage, taskSeq, number), { durable: false });
}

/** Collects the targets of a task to be judged. The check accepts nothing. */
export function beginCheck(work: Work, taskSeq: number): BegunReview {
  return work.database.transaction(() => {
    const reviewId = work.createId();
    return { isRefused: false, reviewId, units: addTaskRows(work, reviewId, taskSeq) };
  });
}

/** Stores the judgements of collected targets that have not changed meanwhile. */
export function applyCheck(work: Work, reviewId: string): CheckDone & { readonly event: TargetsChanged } {
  return work.database.transaction(() => {
    const done = { units: 0, changed: 0, blocked: 0 };
    for (const taskSeq of reviewedTasks(work, reviewId)) {
      const task = taskRow(work, taskSeq);
      if (task === undefined) continue;
      const place = { taskId: String(task['task_id']), releaseId: String(task['release_id']) };
      for (const row of eachRow(work, reviewId, taskSeq)) {
        const { judgedBy } = row;
        if (judgedBy === null) continue;
        const target = getTarget(work, row.unitId);
        if (target === null || target.revision !== row.revision || target.state === 'stale') continue;
        const change = storeJudgement(work, target, row, { ...place, judgedBy }, 'checked again');
        done.units += 1;
        if (change !== null) done.changed += 1;
        if (change === 'blocked') done.blocked += 1;
      }
      writeReason(work, taskSeq);
    }
    refreshTasks(work);
    return { ...done, event: targetsChanged(work, { hasMoved: true, neverRepeats: true }) };
  });
}

const PART_UNITS = 2000;
const TARGETS = `AS own LEFT JOIN target ON target.unit_id = own.unit_id AND target_language = :language
  AND state <> 'stale' AND EXISTS (SELECT 1 FROM task
    WHERE task.task_seq = own.task_seq AND is_visible = 1 AND stored_status IS NOT 'superseded')
  ORDER BY own.repetition`;
const PART = `SELECT own.repetition, target.* FROM (SELECT task_seq, unit_id, repetition FROM task_unit
  WHERE repetition > :after ORDER BY repetition LIMIT ${PART_UNITS}) ${TARGETS}`;
const OF_SOURCE = `SELECT own.repetition, target.* FROM (SELECT task_seq, unit_id, repetition FROM task_unit
  WHERE repetition > :after AND repetition <= :last) ${TARGETS}`;

/** Compares the targets of equal sources of the current tasks, part by part, and stores findings. */
export function compareTargets(work: Work, after: Uint8Array | null): ConsistencyPart {
  return work.database.transaction(() => {
    const { targets, next } = readPart(work, after ?? new Uint8Array());
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
      writeFindings(work, target, [...others, ...own], target.qaIdentity);
    }
    return { next, units: targets.length, inconsistent: found.size };
  });
}

function readPart(
  work: Work,
  after: Uint8Array,
): { readonly targets: readonly StoredTarget[]; readonly next: Uint8Array | null } {
  let rows = work.sql(PART).all({ after, language: work.targetLanguage });
  let next: Uint8Array | null = null;
  const last = rows.at(-1)?.['repetition'] as Uint8Array | undefined;
  if (last !== undefined && rows.length === PART_UNITS) {
    // The next part may have more units of the last source.
    const end = lastRepetition(last);
    const complete = rows.filter((row) => !sameBytes(lastRepetition(row['repetition'] as Uint8Array), end));
    const before = complete.at(-1)?.['repetition'] as Uint8Array | undefined;
    next = before === undefined ? end : lastRepetition(before);
    rows =
      before === undefined
        ? work.sql(OF_SOURCE).all({ after, last: end, language: work.targetLanguage })
        : complete;
  }
  return { targets: rows.filter((row) => row['unit_id'] !== null).map(targetOf), next };
}
