import { withImportCopy, type ImportCopy } from '../../../engine/exchange/import-copy.ts';
import { createImportReport, firstIssue } from '../../../engine/exchange/import-report.ts';
import { TaskError } from '../../../engine/tasks/task.ts';
import type { RunContext } from '../run-context.ts';
import type { UnitsAfterPort } from '../judge/unit-source.ts';
import { judgeReview, type ReviewPorts } from '../review/review-pages.ts';
import { LINE_OUTCOMES, MAX_FILE_BYTES, stageFile, type LineOutcome } from '../review/stage-file.ts';

export interface TargetFilePorts extends ReviewPorts {
  readonly unitsAfter: UnitsAfterPort;
  readonly exchangeRoot: () => string;
  readonly dataDirectory: string;
}

/** The judged targets of a file. The units do not get them: only a localized release does. */
export interface TargetFile {
  /** Under which the thread has them. */
  readonly reviewId: string;
  /** Of the file; lower-case hexadecimal. */
  readonly sha256: string;
  /** Forgets them. */
  close(): Promise<void>;
}

/**
 * Reads a file of translations and judges its targets. Units are found by their id, else by their place, else by their source where
 * it occurs once.
 *
 * @param file below the exchange folder
 * @throws TaskError `file_refused` with the report of its rows; those of the exchange folder, of the parse index and of
 * translation.db; ServiceError of the judge; the signal's reason
 */
export async function openTargetFile(
  ports: TargetFilePorts,
  file: string,
  context: RunContext,
): Promise<TargetFile> {
  const source = {
    root: ports.exchangeRoot(),
    privateFolder: ports.dataDirectory,
    file,
    maxBytes: MAX_FILE_BYTES,
    signal: context.signal,
  };
  return await withImportCopy(source, async (copy) => await collect(ports, file, copy, context));
}

async function collect(
  ports: TargetFilePorts,
  file: string,
  copy: ImportCopy,
  context: RunContext,
): Promise<TargetFile> {
  const { thread } = ports;
  const { signal, progress } = context;
  const report = createImportReport<LineOutcome>(LINE_OUTCOMES);
  const { reviewId } = await thread.beginFileReview(null, { signal });
  const close = async (): Promise<void> => {
    await thread.endReview(reviewId).catch(() => undefined);
  };
  try {
    const { units, hasRefused } = await stageFile(ports, context, file, reviewId, copy, report);
    if (hasRefused) {
      const result = report.result();
      throw new TaskError(
        'file_refused',
        `${file}: rows cannot be used${firstIssue(result)}; correct them. Nothing was changed`,
        { details: { file, sha256: copy.sha256, ...result } },
      );
    }
    await judgeReview(ports, reviewId, signal, (judged) => {
      progress(judged, units, 'units', 'judging targets');
    });
    return { reviewId, sha256: copy.sha256, close };
  } catch (error) {
    await close();
    throw error;
  }
}
