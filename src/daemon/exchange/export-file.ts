import { ExchangeFileError } from '../../contract/formats/exchange-file-error.ts';
import type { TaskContext, TaskResult } from '../tasks/task.ts';
import { formatOf, type ExchangedFile } from './exchange-arguments.ts';
import { exchangeTaskError } from './exchange-failure.ts';
import { createExportReport, type ExportReport } from './export-report.ts';
import { writeExport } from './write-export.ts';

/** Writes the entries of one format. */
interface EntryWriter<Entry> {
  begin(): string;
  /** Empty for an entry that the format leaves out. @throws ExchangeFileError for one that it cannot carry */
  write(entry: Entry): string;
  end(): string;
}

/** How the files of one kind are exported. */
export interface FileExport<Format extends string, Entry> {
  readonly formats: readonly Format[];
  readonly createWriter: (format: Format) => EntryWriter<Entry>;
  readonly entries: () => AsyncIterable<Entry>;
  /** The id of an entry, for the report. */
  readonly idOf: (entry: Entry) => string;
}

/**
 * Writes entries to a file.
 *
 * @param exchangeRoot the folder of exchanged files
 * @throws TaskError; the signal's reason; the error of the entries
 */
export async function exportFile<Format extends string, Entry>(
  exchangeRoot: () => string,
  { args, signal }: TaskContext<ExchangedFile<Format> & { readonly include: string }>,
  parts: FileExport<Format, Entry>,
): Promise<TaskResult> {
  const { file, include } = args;
  const format = formatOf(args, parts.formats);
  const report = createExportReport();
  try {
    const written = await writeExport(exchangeRoot(), file, textsOf(parts, format, report), signal);
    return { file, format, include, ...written, ...report.result() };
  } catch (error) {
    signal.throwIfAborted();
    throw exchangeTaskError(file, error);
  }
}

async function* textsOf<Format extends string, Entry>(
  { createWriter, entries, idOf }: FileExport<Format, Entry>,
  format: Format,
  report: ExportReport,
): AsyncGenerator<string> {
  const writer = createWriter(format);
  yield writer.begin();
  for await (const entry of entries()) {
    try {
      const text = writer.write(entry);
      if (text !== '') report.written();
      yield text;
    } catch (error) {
      if (!(error instanceof ExchangeFileError)) throw error;
      report.refused(idOf(entry), error.message);
    }
  }
  yield writer.end();
}
