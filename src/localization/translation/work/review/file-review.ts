import { isClosed } from '../../../../domain/translation/task-status.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import type {
  FileReviewBy,
  ImportDone,
  ImportedContainer,
  RefusedLine,
  ReviewBy,
  StagedLine,
  TaskReviewer,
} from './review.ts';
import type { StagedRow } from './review-rows.ts';
import type { ReviewTools } from './review-tools.ts';
import { createReviewWriter, type ReviewWriter } from './review-writer.ts';
import { sameBytes, type Row } from '../store/target-rows.ts';
import { createCurrentUnitFinder } from '../update/update-units.ts';

type FileReview = Pick<
  TaskReviewer,
  'beginFileReview' | 'stageLines' | 'excludeContainers' | 'applyFileReview' | 'endReview'
>;

/** Rows that an outcome names. */
const NAMED_ROWS = 1000;
/** Containers that an outcome names. */
const NAMED_CONTAINERS = 1000;

/** Creates the reviews of files in one target language. */
export function createFileReview(tools: ReviewTools): FileReview {
  const { database, rows, createId } = tools;
  /** By review, the tasks that have a row which cannot be used. */
  const refused = new Map<string, Set<number>>();
  const refusedOf = (reviewId: string): Set<number> => {
    const seqs = refused.get(reviewId) ?? new Set();
    refused.set(reviewId, seqs);
    return seqs;
  };
  const apply = createFileWriter(tools);
  return {
    beginFileReview: () => ({ isRefused: false, reviewId: createId(), units: 0 }),
    ...createStaging(tools, refusedOf),
    applyFileReview: ({ reviewId, by }) => {
      try {
        return database.transaction(() => apply(reviewId, by, refusedOf(reviewId)));
      } catch (error) {
        tools.counts.discard();
        throw error;
      }
    },
    endReview: (reviewId) => {
      refused.delete(reviewId);
      rows.remove(reviewId);
    },
  };
}

function createStaging(
  { database, targetLanguage, targets, rows }: ReviewTools,
  refusedOf: (reviewId: string) => Set<number>,
): Pick<FileReview, 'stageLines' | 'excludeContainers'> {
  const findUnit = createCurrentUnitFinder(database);
  const statusOf = database.prepare('SELECT status FROM task WHERE task_seq = ?');
  const taskAt =
    database.prepare(`SELECT task_seq FROM task WHERE destination = ? AND coalesce(archive_entry, '') = ?
    AND target_language = ? AND is_visible = 1 AND stored_status IS NOT 'superseded'`);
  return {
    stageLines: ({ reviewId, lines }) =>
      database.transaction(() =>
        lines.map(({ line, unitId, sourceDigest, sourceText, text, revision }): StagedLine => {
          const place = findUnit(unitId, sourceDigest, targetLanguage);
          if (place === null) return 'unknown_unit';
          const refuse = (why: StagedLine): StagedLine => {
            refusedOf(reviewId).add(place.taskSeq);
            return why;
          };
          if (!sameBytes(place.sourceDigest, sourceDigest)) return refuse('source_mismatch');
          if (isClosed((statusOf.get(place.taskSeq)?.['status'] ?? null) as string | null))
            return refuse('task_closed');
          const known = revision ?? targets.get(place.unitId)?.revision ?? 0;
          const row = { place, line, requestedId: unitId, sourceText, sourceDigest, text, revision: known };
          return rows.add(reviewId, row) ? 'staged' : refuse('duplicate_unit');
        }),
      ),
    excludeContainers: ({ reviewId, refused: { units, places } }) => {
      const seqs = refusedOf(reviewId);
      for (const unitId of units) {
        const place = findUnit(unitId, null, targetLanguage);
        if (place !== null) seqs.add(place.taskSeq);
      }
      for (const { destination, archiveEntry } of places) {
        const task = taskAt.get(destination, archiveEntry ?? '', targetLanguage);
        if (task !== undefined) seqs.add(Number(task['task_seq']));
      }
    },
  };
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

type FileWriter = (reviewId: string, by: FileReviewBy, excluded: ReadonlySet<number>) => ImportDone;

function createFileWriter(tools: ReviewTools): FileWriter {
  const writer = createReviewWriter(tools, 'import');
  const examine = createExamination(tools, writer);
  const write = createContainerWriter(tools, writer);
  return (reviewId, by, excluded) => {
    let room = NAMED_ROWS;
    const examined = tools.rows.tasks(reviewId).map((seq) => {
      const container = examine(reviewId, seq, by, room);
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
      const stored = isTaken ? write(reviewId, task, by) : { written: 0, repeated: 0 };
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
    tools.counts.refresh(tools.now());
    const event = isApplied ? tools.eventOf({ hasMoved: true }) : null;
    return { isApplied, containers, acceptedTasks, ...sums, refusedLines, refusedCounts, event };
  };
}

function createExamination(
  { database, rows }: ReviewTools,
  writer: ReviewWriter,
): (reviewId: string, seq: number, by: ReviewBy, room: number) => ExaminedContainer {
  const taskOf = database.prepare('SELECT * FROM task WHERE task_seq = ?');
  return (reviewId, seq, by, room) => {
    const task = taskOf.get(seq) ?? null;
    const refused: RefusedLine[] = [];
    const counts = new Map<RefusedLine['code'], number>();
    const hasEnded = task === null || isClosed(task['status'] as string);
    let count = 0;
    for (const row of rows.each(reviewId, seq)) {
      count += 1;
      const refusal = hasEnded ? closedRefusal(row) : writer.refusalOf(row, by, 'accept');
      if (refusal === null) continue;
      counts.set(refusal.code, (counts.get(refusal.code) ?? 0) + 1);
      if (refused.length < room) refused.push(refusal);
    }
    return { task, rows: count, refused, counts, isRefused: counts.size > 0 };
  };
}

function closedRefusal({ line, requestedId }: StagedRow): RefusedLine {
  const message = `${unitIdText(requestedId)} belongs to a task that has ended meanwhile`;
  return { line, unitId: requestedId, code: 'revision_changed', message };
}

function createContainerWriter(
  { database, rows, counts, containers, now }: ReviewTools,
  writer: ReviewWriter,
): (reviewId: string, task: Row, by: ReviewBy) => { written: number; repeated: number } {
  const reopen = database.prepare(
    `UPDATE task SET stored_status = NULL WHERE task_seq = ? AND stored_status IN ('pending', 'in_progress', 'failed')`,
  );
  return (reviewId, task, by) => {
    const seq = Number(task['task_seq']);
    const stored = { written: 0, repeated: 0 };
    for (const row of rows.each(reviewId, seq)) {
      stored[writer.accept(task, row, by) ? 'written' : 'repeated'] += 1;
    }
    containers.add(String(task['destination']), task['archive_entry'] as string | null, now());
    reopen.run(seq);
    counts.touch(seq);
    return stored;
  };
}
