import { withImportCopy, type ImportCopy } from '../../../engine/exchange/import-copy.ts';
import { createImportReport, firstIssue, type ImportReport } from '../../../engine/exchange/import-report.ts';
import type { ArgumentsOf } from '../../../engine/tasks/job.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../../engine/tasks/task.ts';
import type { UnitsAfterPort } from '../judge/unit-source.ts';
import type { ImportDone } from '../work/review/review.ts';
import type { PROOFREAD_IMPORT_JOB } from './review-jobs.ts';
import { judgeReview } from './review-pages.ts';
import { LINE_OUTCOMES, MAX_FILE_BYTES, stageFile, type LineOutcome } from './stage-file.ts';
import { settleMemory, type MemoryPorts } from './settle-memory.ts';

interface FileImportPorts extends MemoryPorts {
  readonly unitsAfter: UnitsAfterPort;
  readonly exchangeRoot: () => string;
  /** The private folder of the daemon, for the copy of the file. */
  readonly dataDirectory: string;
  /** Whether a token must not accept its own targets. */
  readonly fourEyes: () => boolean;
}

type ImportContext = TaskContext<ArgumentsOf<typeof PROOFREAD_IMPORT_JOB>>;

/**
 * Accepts the targets of a file that a person has reviewed: all of them or nothing; with `partial`, all of each container or nothing of it.
 * Units are found by their id, else by their place, else by their source where it occurs once.
 *
 * @throws TaskError `file_refused` with line and reason, `import_refused` with the report; those of the exchange folder, of the parse
 * index and of translation.db; the signal's reason
 */
export async function importFile(ports: FileImportPorts, context: ImportContext): Promise<TaskResult> {
  const source = {
    root: ports.exchangeRoot(),
    privateFolder: ports.dataDirectory,
    file: context.args.translation_file,
    maxBytes: MAX_FILE_BYTES,
    signal: context.signal,
  };
  return await withImportCopy(source, async (copy) => await importCopy(ports, context, copy));
}

async function importCopy(
  ports: FileImportPorts,
  context: ImportContext,
  copy: ImportCopy,
): Promise<TaskResult> {
  const { args, signal } = context;
  const { thread } = ports;
  const report = createImportReport<LineOutcome>(LINE_OUTCOMES);
  const { reviewId } = await thread.beginFileReview(null, { signal });
  try {
    const staged = await stageFile(ports, context, args.translation_file, copy, { reviewId, report });
    await judgeReview(ports, reviewId, signal, (judged) => {
      context.progress(judged, staged.units, 'units', 'judging targets');
    });
    const by = {
      reviewer: args.reviewer,
      reason: args.reason,
      tokenId: args.token_id,
      fourEyes: ports.fourEyes(),
    };
    const done = await thread.applyFileReview({
      reviewId,
      by: { ...by, isPartial: args.partial, hasRefused: staged.hasRefused },
    });
    const result = {
      file: args.translation_file,
      sha256: copy.sha256,
      notices: staged.notices,
      ...reportOf(report, done),
      containers: done.containers.map(containerFields),
    };
    if (!done.isApplied) {
      throw new TaskError(
        'import_refused',
        `${args.translation_file}: units cannot be accepted${firstIssue(result)}; nothing was changed. Correct them, or send args ["partial=true"] to take the other containers`,
        { details: result },
      );
    }
    const made = new Set(done.acceptedTasks);
    const isMade = (taskId: string): boolean => made.has(taskId);
    const review = { reviewId, decision: 'accept', by, isMade } as const;
    return { ...result, memory: await settleMemory(ports, review, signal) };
  } finally {
    await thread.endReview(reviewId).catch(() => undefined);
  }
}

function containerFields(container: ImportDone['containers'][number]): TaskResult {
  const { taskId, destination, archiveEntry, written, repeated, refused } = container;
  return { task_id: taskId, destination, archive_entry: archiveEntry, written, repeated, refused };
}

function reportOf(
  report: ImportReport<LineOutcome>,
  { refusedLines, refusedCounts, written, repeated, leftOut }: ImportDone,
) {
  for (const { line, code, message } of refusedLines) report.add(line, code, message);
  const { counts, ...rest } = report.result();
  return {
    counts: { ...counts, ...refusedCounts, accepted: written, repeated, left_out: leftOut },
    ...rest,
  };
}
