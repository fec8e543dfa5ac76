import { isSameButLineEnds, lineEndForms, targetOfTable } from '../../../../domain/text/line-ends.ts';
import { isClosed } from '../../../../domain/translation/task-status.ts';
import { blake3OfText } from '../../../../platform/hashing/text-blake3.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import { addProofread } from '../store/proofread-containers.ts';
import { sameBytes, type Row } from '../store/target-rows.ts';
import { getTarget } from '../store/target-store.ts';
import { targetsChanged } from '../store/repetition-queue.ts';
import { refreshTasks, taskRow } from '../store/task-counts.ts';
import type { Work } from '../store/work.ts';
import { findCurrentUnit } from '../update/update-units.ts';
import type {
  BegunReview,
  FileReviewBy,
  ImportDone,
  ImportedContainer,
  RefusedContainers,
  RefusedLine,
  ReviewBy,
  ReviewLine,
  StagedLine,
} from './review.ts';
import { addRow, eachRow, reviewedTasks, type StagedRow } from './review-rows.ts';
import { acceptRow, rowRefusal } from './review-writer.ts';

const NAMED_ROWS = 1000;
const NAMED_CONTAINERS = 1000;

/** Begins a review of the rows of a file. */
export function beginFileReview(work: Work): BegunReview {
  return { isRefused: false, reviewId: work.createId(), units: 0 };
}

/** Collects rows of a file. @returns an outcome for each */
export function stageLines(
  work: Work,
  { reviewId, lines }: { readonly reviewId: string; readonly lines: readonly ReviewLine[] },
): readonly StagedLine[] {
  return work.database.transaction(() =>
    lines.map((given): StagedLine => {
      const { line, unitId, text, revision, isOfTable } = given;
      const place = findCurrentUnit(work, unitId, given.sourceDigest);
      if (place === null) return 'unknown_unit';
      const refuse = (why: StagedLine): StagedLine => {
        refusedTasksOf(work, reviewId).add(place.taskSeq);
        return why;
      };
      const stored = getTarget(work, place.unitId);
      const source = sourceOf(given, place.sourceDigest, stored?.sourceText ?? '');
      if (source === null) return refuse('source_mismatch');
      if (isClosed((taskRow(work, place.taskSeq)?.['status'] ?? null) as string | null))
        return refuse('task_closed');
      const model = source === given ? null : source.sourceText;
      const target = isOfTable ? targetOfTable(text, stored?.text ?? null, model) : text;
      const { sourceText, sourceDigest } = source;
      const known = revision ?? stored?.revision ?? 0;
      const row = {
        place,
        line,
        requestedId: unitId,
        sourceText,
        sourceDigest,
        text: target,
        revision: known,
      };
      if (!addRow(work, reviewId, row)) return refuse('duplicate_unit');
      return source === given && target === text ? 'staged' : 'line_ends_changed';
    }),
  );
}

interface DigestedSource {
  readonly sourceText: string;
  readonly sourceDigest: Uint8Array;
}

/**
 * The source of a row, with the stored line ends where a spreadsheet has changed them; `null` for another text.
 *
 * @param known the source of the stored target: it can have several kinds of line ends
 */
function sourceOf(line: ReviewLine, digest: Uint8Array, known: string): DigestedSource | null {
  if (sameBytes(line.sourceDigest, digest)) return line;
  if (!line.isOfTable) return null;
  const forms = [
    ...lineEndForms(line.sourceText),
    ...(isSameButLineEnds(known, line.sourceText) ? [known] : []),
  ];
  const sourceText = forms.find((form) => sameBytes(blake3OfText(form), digest));
  return sourceText === undefined ? null : { sourceText, sourceDigest: digest };
}

/** Refuses the containers of these units and at these places. */
export function excludeContainers(
  work: Work,
  {
    reviewId,
    refused: { units, places },
  }: { readonly reviewId: string; readonly refused: RefusedContainers },
): void {
  const seqs = refusedTasksOf(work, reviewId);
  for (const unitId of units) {
    const place = findCurrentUnit(work, unitId, null);
    if (place !== null) seqs.add(place.taskSeq);
  }
  for (const { destination, archiveEntry } of places) {
    const task = work
      .sql(
        `SELECT task_seq FROM task WHERE destination = ? AND coalesce(archive_entry, '') = ?
        AND target_language = ? AND is_visible = 1 AND stored_status IS NOT 'superseded'`,
      )
      .get(destination, archiveEntry ?? '', work.targetLanguage);
    if (task !== undefined) seqs.add(Number(task['task_seq']));
  }
}

function refusedTasksOf({ refusedTasks }: Work, reviewId: string): Set<number> {
  const seqs = refusedTasks.get(reviewId) ?? new Set();
  refusedTasks.set(reviewId, seqs);
  return seqs;
}

/** Accepts the rows of a file: all or nothing, or the containers without a refused row. */
export function applyFileReview(
  work: Work,
  { reviewId, by }: { readonly reviewId: string; readonly by: FileReviewBy },
): ImportDone {
  try {
    return work.database.transaction(() => writeFile(work, reviewId, by));
  } finally {
    work.touched.clear();
  }
}

function writeFile(work: Work, reviewId: string, by: FileReviewBy): ImportDone {
  const excluded = refusedTasksOf(work, reviewId);
  let room = NAMED_ROWS;
  const examined = reviewedTasks(work, reviewId).map((seq) => {
    const container = examineContainer(work, reviewId, seq, by, room);
    room -= container.refused.length;
    return { ...container, isRefused: excluded.has(seq) || container.isRefused };
  });
  const isClean = !by.hasRefused && examined.every(({ isRefused }) => !isRefused);
  const isApplied = by.isPartial || isClean;
  const containers: ImportedContainer[] = [];
  const acceptedTasks: string[] = [];
  const refusedLines: RefusedLine[] = [];
  const refusedCounts: Partial<Record<RefusedLine['code'], number>> = {};
  const sums = { written: 0, repeated: 0, leftOut: 0 };
  for (const { task, rows, refused, counts, isRefused } of examined) {
    refusedLines.push(...refused);
    let refusedRows = 0;
    for (const [code, count] of counts) {
      refusedCounts[code] = (refusedCounts[code] ?? 0) + count;
      refusedRows += count;
    }
    const isTaken = isApplied && !isRefused && task !== null;
    const stored = isTaken ? writeContainer(work, reviewId, task, by) : { written: 0, repeated: 0 };
    sums.written += stored.written;
    sums.repeated += stored.repeated;
    if (isTaken) acceptedTasks.push(String(task['task_id']));
    else sums.leftOut += rows - refusedRows;
    if (task === null || containers.length >= NAMED_CONTAINERS) continue;
    containers.push({
      taskId: String(task['task_id']),
      destination: String(task['destination']),
      archiveEntry: task['archive_entry'] as string | null,
      ...stored,
      refused: refusedRows,
    });
  }
  refreshTasks(work);
  const event = isApplied ? targetsChanged(work, { hasMoved: true }) : null;
  return { isApplied, containers, acceptedTasks, ...sums, refusedLines, refusedCounts, event };
}

interface ExaminedContainer {
  /** `null` when cleanup has removed it, after the tasks of another release replaced it. */
  readonly task: Row | null;
  readonly rows: number;
  /** The first refused rows, no more than there was room for. */
  readonly refused: readonly RefusedLine[];
  readonly counts: ReadonlyMap<RefusedLine['code'], number>;
  readonly isRefused: boolean;
}

function examineContainer(
  work: Work,
  reviewId: string,
  seq: number,
  by: ReviewBy,
  room: number,
): ExaminedContainer {
  const task = taskRow(work, seq) ?? null;
  const refused: RefusedLine[] = [];
  const counts = new Map<RefusedLine['code'], number>();
  const hasEnded = task === null || isClosed(task['status'] as string);
  let rows = 0;
  for (const row of eachRow(work, reviewId, seq)) {
    rows += 1;
    const refusal = hasEnded ? closedRefusal(row) : rowRefusal(work, row, by, 'accept');
    if (refusal === null) continue;
    counts.set(refusal.code, (counts.get(refusal.code) ?? 0) + 1);
    if (refused.length < room) refused.push(refusal);
  }
  return { task, rows, refused, counts, isRefused: counts.size > 0 };
}

function closedRefusal({ line, requestedId }: StagedRow): RefusedLine {
  const message = `${unitIdText(requestedId)} belongs to a task that has ended meanwhile`;
  return { line, unitId: requestedId, code: 'revision_changed', message };
}

function writeContainer(
  work: Work,
  reviewId: string,
  task: Row,
  by: ReviewBy,
): { readonly written: number; readonly repeated: number } {
  const seq = Number(task['task_seq']);
  const stored = { written: 0, repeated: 0 };
  for (const row of eachRow(work, reviewId, seq)) {
    stored[acceptRow(work, task, row, by, 'import') ? 'written' : 'repeated'] += 1;
  }
  addProofread(work, String(task['destination']), task['archive_entry'] as string | null);
  work
    .sql(
      `UPDATE task SET stored_status = NULL WHERE task_seq = ? AND stored_status IN ('pending', 'in_progress', 'failed')`,
    )
    .run(seq);
  work.touched.add(seq);
  return stored;
}
