import { findInconsistentTargets } from '../../../../domain/text/checks/find-inconsistent-targets.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import { INCONSISTENT_TARGET, createFindingsWriter, createNewJudgements } from '../store/new-judgement.ts';
import { createTaskReasons } from '../repetition/requalified-reason.ts';
import type { BegunReview } from './review.ts';
import type { TargetsChanged } from '../../../text-events.ts';
import type { ReviewTools } from './review-tools.ts';
import { lastRepetition } from '../build/repetition-digest.ts';
import { sameBytes, targetOf, type Row, type StoredTarget } from '../store/target-rows.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';

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

interface TranslatedTasksQuery {
  readonly after: number;
  /** `null`: to the last one. */
  readonly upTo: number | null;
  readonly limit: number;
}

/** Checks of stored targets. They store findings and accept nothing. */
export interface TaskCheck {
  /** The tasks that are translated, after a place and up to another one. */
  translatedTasks(query: TranslatedTasksQuery): readonly number[];
  /** How far the checks of a kind have come. */
  checkCursor(name: CheckName): CheckPlace;
  setCheckCursor(cursor: { readonly name: CheckName; readonly place: CheckPlace }): void;
  /** Collects the targets of a task to be judged. */
  beginCheck(taskSeq: number): BegunReview;
  /** Stores the judgements of collected targets that have not changed meanwhile. */
  applyCheck(reviewId: string): CheckDone & { readonly event: TargetsChanged };
  /** Compares the targets of equal sources of the current tasks, part by part. */
  compareTargets(after: Uint8Array | null): ConsistencyPart;
}

/** Units of one part of the comparison. */
const PART_UNITS = 2000;

/** Creates the checks of one target language. */
export function createTaskCheck(tools: ReviewTools): TaskCheck {
  const { database, targetLanguage, targets, counts, rows, createId, now } = tools;
  const translated = database.prepare(`SELECT task_seq FROM task
    WHERE is_visible = 1 AND status = 'translated' AND target_language = :language AND task_seq > :after
    AND coalesce(task_seq <= :up_to, 1) ORDER BY task_seq LIMIT :limit`);
  const taskOf = database.prepare('SELECT task_id, release_id FROM task WHERE task_seq = ?');
  const reasons = createTaskReasons(database, targetLanguage);
  const storeJudgement = createNewJudgements(tools);
  return {
    translatedTasks: ({ after, upTo, limit }) =>
      translated
        .all({ language: targetLanguage, after, up_to: upTo, limit })
        .map((row) => Number(row['task_seq'])),
    ...createCheckCursor(database, targetLanguage),
    beginCheck: (taskSeq) =>
      database.transaction(() => {
        const reviewId = createId();
        return { isRefused: false, reviewId, units: rows.addTask(reviewId, taskSeq) };
      }),
    applyCheck: (reviewId) =>
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
            const cause = 'checked again';
            const change = storeJudgement(target, { findings, qaIdentity, judgedBy, ...place, cause });
            done.units += 1;
            if (change !== null) done.changed += 1;
            if (change === 'blocked') done.blocked += 1;
          }
          reasons.write(taskSeq);
        }
        counts.refresh(now());
        return { ...done, event: tools.eventOf({ hasMoved: true, neverRepeats: true }) };
      }),
    compareTargets: createComparison(tools),
  };
}

/** Creates the comparison of the targets of equal sources. */
function createComparison({ database, targetLanguage }: ReviewTools): TaskCheck['compareTargets'] {
  const writeFindings = createFindingsWriter(database, targetLanguage);
  const columns = `SELECT own.repetition, target.* FROM`;
  const joined = `AS own LEFT JOIN target ON target.unit_id = own.unit_id AND target_language = :language
    AND state <> 'stale' AND EXISTS (SELECT 1 FROM task
      WHERE task.task_seq = own.task_seq AND is_visible = 1 AND stored_status IS NOT 'superseded')
    ORDER BY own.repetition`;
  const part = database.prepare(`${columns} (SELECT task_seq, unit_id, repetition FROM task_unit
    WHERE repetition > :after ORDER BY repetition LIMIT ${PART_UNITS}) ${joined}`);
  const ofSource = database.prepare(`${columns} (SELECT task_seq, unit_id, repetition FROM task_unit
    WHERE repetition > :after AND repetition <= :last) ${joined}`);
  const readPart = (after: Uint8Array): { targets: StoredTarget[]; next: Uint8Array | null } => {
    const rows = part.all({ after, language: targetLanguage });
    const last = rows.at(-1)?.['repetition'] as Uint8Array | undefined;
    if (last === undefined || rows.length < PART_UNITS) return { targets: targetsIn(rows), next: null };
    // The next part may have more units of the last source.
    const end = lastRepetition(last);
    const complete = rows.filter((row) => !sameBytes(lastRepetition(row['repetition'] as Uint8Array), end));
    const next = complete.at(-1)?.['repetition'] as Uint8Array | undefined;
    if (next !== undefined) return { targets: targetsIn(complete), next: lastRepetition(next) };
    return { targets: targetsIn(ofSource.all({ after, last: end, language: targetLanguage })), next: end };
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

function targetsIn(rows: readonly Row[]): StoredTarget[] {
  return rows.filter((row) => row['unit_id'] !== null).map(targetOf);
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

/** Creates the cursors, with which runs go over the translated tasks in turn. */
function createCheckCursor(
  database: Database,
  targetLanguage: string,
): Pick<TaskCheck, 'checkCursor' | 'setCheckCursor'> {
  const read = database.prepare(
    'SELECT task_seq, number FROM check_cursor WHERE name = ? AND target_language = ?',
  );
  const write = database.prepare(
    'INSERT OR REPLACE INTO check_cursor (name, target_language, task_seq, number) VALUES (?, ?, ?, ?)',
  );
  return {
    checkCursor: (name) => {
      const row = read.get(name, targetLanguage);
      const number = row?.['number'] ?? null;
      return { taskSeq: Number(row?.['task_seq'] ?? -1), number: number === null ? null : Number(number) };
    },
    setCheckCursor: ({ name, place: { taskSeq, number } }) => {
      // A power failure may lose it: some units are checked once more then.
      database.transaction(() => write.run(name, targetLanguage, taskSeq, number), { durable: false });
    },
  };
}
