import { readUnits } from '../../../exchange/units/unit-formats.ts';
import type { ImportCopy } from '../../../engine/exchange/import-copy.ts';
import type { ImportReport } from '../../../engine/exchange/import-report.ts';
import { TaskError, type TaskContext } from '../../../engine/tasks/task.ts';
import { formatOfFile } from './file-format.ts';
import { createLineStager, type LineOutcome, type LineStagerPorts } from './line-stager.ts';

/** Most bytes of a file of translations. */
export const MAX_FILE_BYTES = 256 * 1024 * 1024;
const MAX_UNITS = 500_000;

interface CollectedFile {
  /** Its name, for messages. */
  readonly file: string;
  readonly reviewId: string;
  readonly copy: Pick<ImportCopy, 'read'>;
  readonly report: ImportReport<LineOutcome>;
}

/**
 * Reads a file of translations to its end and collects its rows for their judgement.
 *
 * @returns the number of its units, and whether a row cannot be used; the report says why
 * @throws TaskError `file_refused`; ExchangeFileError; the signal's reason
 */
export async function stageFile(
  ports: LineStagerPorts,
  { signal, progress }: Pick<TaskContext, 'signal' | 'progress'>,
  { file, reviewId, copy, report }: CollectedFile,
): Promise<{ units: number; hasRefused: boolean }> {
  const stager = createLineStager(ports, { reviewId, report, signal });
  const format = await formatOfFile(file, copy.read());
  let units = 0;
  for await (const result of readUnits(format, copy.read())) {
    signal.throwIfAborted();
    units += 1;
    if (units > MAX_UNITS) {
      throw new TaskError(
        'file_refused',
        `${file}: line ${result.line}: the file has more than ${MAX_UNITS} units; divide it. Nothing was changed`,
        { details: { file, reason: 'limit_exceeded', line: result.line } },
      );
    }
    await stager.add(result);
    progress(units, null, 'units', 'reading the file');
  }
  await stager.end();
  return { units, hasRefused: stager.hasRefused() };
}
