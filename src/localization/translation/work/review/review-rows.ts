import type { TargetAuthor } from '../../../../domain/translation/four-eyes.ts';
import type { JudgedTarget } from '../store/accepted-findings.ts';
import { wasProofread } from '../store/proofread-containers.ts';
import type { Finding, JudgedBy, Row } from '../store/target-rows.ts';
import { taskRow } from '../store/task-counts.ts';
import type { Work } from '../store/work.ts';
import type { PlacedUnit } from '../update/update-units.ts';
import type { JudgedRow, ReviewPage, ReviewPlace, ReviewRow } from './review.ts';

/** A target of a review with its judgement. */
export interface StagedRow extends JudgedTarget {
  readonly taskSeq: number;
  readonly number: number;
  readonly line: number;
  readonly requestedId: Uint8Array;
  readonly sourceText: string;
  /** That the unit had when the target was collected; 0 without a target. */
  readonly revision: number;
  /** `null` until it is judged. */
  readonly judgedBy: JudgedBy | null;
}

/** Bounds of one page: it passes through the event loop. */
const PAGE_ROWS = 200;
const PAGE_CHARACTERS = 256 * 1024;

/** Adds a target to a review. @returns false when the unit is in the review already */
export function addRow(
  work: Work,
  reviewId: string,
  row: {
    readonly place: PlacedUnit;
    readonly line: number;
    readonly requestedId: Uint8Array;
    readonly sourceText: string;
    readonly sourceDigest: Uint8Array;
    readonly text: string;
    readonly revision: number;
  },
): boolean {
  const { taskSeq, number, unitId } = row.place;
  const { line, requestedId, sourceText, sourceDigest, text, revision } = row;
  const added = work
    .sql(
      `INSERT OR IGNORE INTO review_row (review_id, task_seq, number, line, unit_id, requested_id,
      source_text, source_digest, target_text, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(reviewId, taskSeq, number, line, unitId, requestedId, sourceText, sourceDigest, text, revision);
  return Number(added.changes) > 0;
}

/** Adds every target of a task to a review. @returns how many */
export function addTaskRows(work: Work, reviewId: string, taskSeq: number): number {
  const added = work
    .sql(
      `INSERT INTO review_row (review_id, task_seq, number, line, unit_id, requested_id, source_text,
      source_digest, target_text, revision) SELECT ?, task_seq, number, number, unit_id, unit_id, source_text,
      target.source_digest, target_text, revision FROM task_unit JOIN target USING (unit_id)
      WHERE task_seq = ? AND target_language = ?`,
    )
    .run(reviewId, taskSeq, work.targetLanguage);
  return Number(added.changes);
}

/** Stores the judgements of collected targets. */
export function storeReviewJudgements(
  work: Work,
  {
    reviewId,
    taskSeq,
    by: { key, generation },
    rows,
  }: {
    readonly reviewId: string;
    readonly taskSeq: number;
    readonly by: JudgedBy;
    readonly rows: readonly JudgedRow[];
  },
): void {
  const judge =
    work.sql(`UPDATE review_row SET findings = ?, qa_identity = ?, judged_by = ?, glossary_generation = ?
    WHERE review_id = ? AND task_seq = ? AND number = ?`);
  work.database.transaction(() => {
    for (const { number, findings, qaIdentity } of rows) {
      judge.run(JSON.stringify(findings), qaIdentity, key, generation, reviewId, taskSeq, number);
    }
  });
}

/** The rows of a review, or of one task of it, in their order, read one by one. */
export function* eachRow(work: Work, reviewId: string, taskSeq: number | null = null): Generator<StagedRow> {
  const rows = work.sql(
    'SELECT * FROM review_row WHERE review_id = ?1 AND (?2 IS NULL OR task_seq = ?2) ORDER BY task_seq, number',
  );
  for (const row of rows.iterate(reviewId, taskSeq)) yield stagedRowOf(row);
}

/** The tasks that have rows in a review, in their order. */
export function reviewedTasks(work: Work, reviewId: string): number[] {
  return work
    .sql('SELECT DISTINCT task_seq FROM review_row WHERE review_id = ? ORDER BY task_seq')
    .all(reviewId)
    .map((row) => Number(row['task_seq']));
}

/** Forgets a review, or all of them. */
export function removeRows(work: Work, reviewId: string | null): void {
  work.sql('DELETE FROM review_row WHERE coalesce(?1, review_id) = review_id').run(reviewId);
}

/** The next targets of a review, of one task; `null` at the end. */
export function reviewPage(
  work: Work,
  { reviewId, after }: { readonly reviewId: string; readonly after: ReviewPlace | null },
): ReviewPage | null {
  let page = readPage(work, reviewId, after);
  while (page?.rows.length === 0) {
    page = readPage(work, reviewId, { taskSeq: page.taskSeq, number: Number.MAX_SAFE_INTEGER });
  }
  return page;
}

const FIRST_TASK = `SELECT task_seq FROM review_row
  WHERE review_id = ? AND (task_seq, number) > (?, ?) ORDER BY task_seq, number LIMIT 1`;
const PAGE = `SELECT review_row.*, ordinal, author_kind, token_id FROM review_row JOIN task_unit USING (task_seq, number)
  LEFT JOIN target ON target.unit_id = review_row.unit_id AND target_language = ?
  WHERE review_id = ? AND task_seq = ? AND number > ? ORDER BY number LIMIT ${PAGE_ROWS}`;

/** @returns a page without rows when the tasks of another release have replaced the task meanwhile */
function readPage(work: Work, reviewId: string, after: ReviewPlace | null): ReviewPage | null {
  const found = work.sql(FIRST_TASK).get(reviewId, after?.taskSeq ?? -1, after?.number ?? -1);
  if (found === undefined) return null;
  const taskSeq = Number(found['task_seq']);
  const task = taskRow(work, taskSeq) ?? {};
  const destination = String(task['destination']);
  const archiveEntry = task['archive_entry'] as string | null;
  const from = after?.taskSeq === taskSeq ? after.number : -1;
  const rows: ReviewRow[] = [];
  let characters = 0;
  for (const row of work.sql(PAGE).iterate(work.targetLanguage, reviewId, taskSeq, from)) {
    const { number, line, unitId, sourceText, text } = stagedRowOf(row);
    const kind = row['author_kind'] as TargetAuthor['kind'] | null;
    const author = kind === null ? null : { kind, tokenId: row['token_id'] as string | null };
    rows.push({ number, ordinal: Number(row['ordinal']), line, unitId, sourceText, text, author });
    characters += sourceText.length + text.length;
    if (characters >= PAGE_CHARACTERS) break;
  }
  return {
    taskSeq,
    taskId: String(task['task_id']),
    releaseId: String(task['release_id']),
    generation: Number(task['generation']),
    destination,
    archiveEntry,
    wasProofread: wasProofread(work, destination, archiveEntry),
    rows,
  };
}

/** A row of the working table. */
export function stagedRowOf(row: Row): StagedRow {
  return {
    taskSeq: Number(row['task_seq']),
    number: Number(row['number']),
    line: Number(row['line']),
    unitId: row['unit_id'] as Uint8Array,
    requestedId: row['requested_id'] as Uint8Array,
    sourceText: String(row['source_text']),
    sourceDigest: row['source_digest'] as Uint8Array,
    text: String(row['target_text']),
    revision: Number(row['revision']),
    judgedBy:
      row['judged_by'] === null
        ? null
        : { key: String(row['judged_by']), generation: row['glossary_generation'] as number | null },
    findings: JSON.parse(String(row['findings'])) as Finding[],
    qaIdentity: row['qa_identity'] as string | null,
  };
}
