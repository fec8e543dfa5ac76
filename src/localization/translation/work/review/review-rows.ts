import type { TargetAuthor } from '../../../../domain/translation/four-eyes.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { Finding, JudgedBy, Row } from '../store/target-rows.ts';
import type { JudgedTarget } from '../store/accepted-findings.ts';
import type { ProofreadContainers } from '../store/proofread-containers.ts';
import type { JudgedRow, ReviewPage, ReviewPlace } from './review.ts';
import type { PlacedUnit } from '../update/update-units.ts';

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

interface NewReviewRow extends Pick<
  StagedRow,
  'line' | 'requestedId' | 'sourceText' | 'sourceDigest' | 'text' | 'revision'
> {
  readonly place: PlacedUnit;
}

/** The working table of reviews. */
export interface ReviewRows {
  /** @returns false when the unit is in the review already */
  add(reviewId: string, row: NewReviewRow): boolean;
  /** Adds every target of a task. @returns how many */
  addTask(reviewId: string, taskSeq: number): number;
  page(reviewId: string, after: ReviewPlace | null): ReviewPage | null;
  judge(reviewId: string, taskSeq: number, by: JudgedBy, rows: readonly JudgedRow[]): void;
  /** The rows of a review, or of one task of it, in their order, read one by one. */
  each(reviewId: string, taskSeq?: number): Iterable<StagedRow>;
  /** The tasks that have rows, in their order. */
  tasks(reviewId: string): number[];
  /** Forgets a review, or all of them. */
  remove(reviewId: string | null): void;
}

/** Bounds of one page: it passes through the event loop. */
const PAGE_ROWS = 200;
const PAGE_CHARACTERS = 256 * 1024;

/** Creates the table of one target language. */
export function createReviewRows(
  database: Database,
  targetLanguage: string,
  containers: Pick<ProofreadContainers, 'has'>,
): ReviewRows {
  const add =
    database.prepare(`INSERT OR IGNORE INTO review_row (review_id, task_seq, number, line, unit_id, requested_id,
    source_text, source_digest, target_text, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const addTask =
    database.prepare(`INSERT INTO review_row (review_id, task_seq, number, line, unit_id, requested_id, source_text,
    source_digest, target_text, revision) SELECT ?, task_seq, number, number, unit_id, unit_id, source_text,
    target.source_digest, target_text, revision FROM task_unit JOIN target USING (unit_id)
    WHERE task_seq = ? AND target_language = ?`);
  const judge =
    database.prepare(`UPDATE review_row SET findings = ?, qa_identity = ?, judged_by = ?, glossary_generation = ?
    WHERE review_id = ? AND task_seq = ? AND number = ?`);
  const each =
    database.prepare(`SELECT * FROM review_row WHERE review_id = ?1 AND (?2 IS NULL OR task_seq = ?2)
    ORDER BY task_seq, number`);
  const tasks = database.prepare(
    'SELECT DISTINCT task_seq FROM review_row WHERE review_id = ? ORDER BY task_seq',
  );
  const remove = database.prepare('DELETE FROM review_row WHERE coalesce(?1, review_id) = review_id');
  const page = createPages(database, targetLanguage, containers);
  return {
    add: (reviewId, { place, line, requestedId, sourceText, sourceDigest, text, revision }) =>
      add.run(
        reviewId,
        place.taskSeq,
        place.number,
        line,
        place.unitId,
        requestedId,
        sourceText,
        sourceDigest,
        text,
        revision,
      ).changes > 0,
    addTask: (reviewId, taskSeq) => Number(addTask.run(reviewId, taskSeq, targetLanguage).changes),
    page,
    judge: (reviewId, taskSeq, { key, generation }, rows) => {
      database.transaction(() => {
        for (const { number, findings, qaIdentity } of rows) {
          judge.run(JSON.stringify(findings), qaIdentity, key, generation, reviewId, taskSeq, number);
        }
      });
    },
    each: function* eachRow(reviewId, taskSeq) {
      for (const row of each.iterate(reviewId, taskSeq ?? null)) yield stagedRowOf(row);
    },
    tasks: (reviewId) => tasks.all(reviewId).map((row) => Number(row['task_seq'])),
    remove: (reviewId) => {
      remove.run(reviewId);
    },
  };
}

/** Creates the pages of a review. One page has rows of one task only. */
function createPages(
  database: Database,
  targetLanguage: string,
  containers: Pick<ProofreadContainers, 'has'>,
): (reviewId: string, after: ReviewPlace | null) => ReviewPage | null {
  const first = database.prepare(`SELECT task_seq FROM review_row
    WHERE review_id = ? AND (task_seq, number) > (?, ?) ORDER BY task_seq, number LIMIT 1`);
  const rows =
    database.prepare(`SELECT review_row.*, ordinal, author_kind, token_id FROM review_row JOIN task_unit USING (task_seq, number)
    LEFT JOIN target ON target.unit_id = review_row.unit_id AND target_language = ?
    WHERE review_id = ? AND task_seq = ? AND number > ? ORDER BY number LIMIT ${PAGE_ROWS}`);
  const taskOf = database.prepare(
    'SELECT task.*, generation FROM task JOIN build USING (build_id) WHERE task_seq = ?',
  );
  /** @returns a page without rows when the tasks of another release have replaced the task meanwhile */
  const read = (reviewId: string, after: ReviewPlace | null): ReviewPage | null => {
    const found = first.get(reviewId, after?.taskSeq ?? -1, after?.number ?? -1);
    if (found === undefined) return null;
    const taskSeq = Number(found['task_seq']);
    const task = taskOf.get(taskSeq) ?? {};
    const container = {
      destination: String(task['destination']),
      archiveEntry: task['archive_entry'] as string | null,
    };
    const from = after?.taskSeq === taskSeq ? after.number : -1;
    const items: ReviewPage['rows'][number][] = [];
    let characters = 0;
    for (const row of rows.iterate(targetLanguage, reviewId, taskSeq, from)) {
      const { number, line, unitId, sourceText, text } = stagedRowOf(row);
      items.push({
        number,
        ordinal: Number(row['ordinal']),
        line,
        unitId,
        sourceText,
        text,
        author: authorOf(row),
      });
      characters += sourceText.length + text.length;
      if (characters >= PAGE_CHARACTERS) break;
    }
    return {
      taskSeq,
      taskId: String(task['task_id']),
      releaseId: String(task['release_id']),
      generation: Number(task['generation']),
      indexPosition: Number(task['index_position']),
      ...container,
      wasProofread: containers.has(container.destination, container.archiveEntry),
      rows: items,
    };
  };
  return (reviewId, after) => {
    let page = read(reviewId, after);
    while (page?.rows.length === 0) {
      page = read(reviewId, { taskSeq: page.taskSeq, number: Number.MAX_SAFE_INTEGER });
    }
    return page;
  };
}

function authorOf(row: Row): TargetAuthor | null {
  const kind = row['author_kind'] as TargetAuthor['kind'] | null;
  return kind === null ? null : { kind, tokenId: row['token_id'] as string | null };
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
