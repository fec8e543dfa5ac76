import { writeEntries, type FileWriter } from '../../exchange/file-codec.ts';
import type { TaskContext, TaskResult } from '../tasks/task.ts';
import { formatOf, type ExchangedFile } from './exchange-arguments.ts';
import { exchangeTaskError } from './exchange-failure.ts';
import { writeExport } from './write-export.ts';

const MAX_ISSUES = 200;

interface FileExport<Format extends string, Entry> {
  readonly formats: readonly Format[];
  readonly createWriter: (format: Format) => FileWriter<Entry>;
  readonly entries: () => AsyncIterable<Entry>;
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
  let written = 0;
  let refused = 0;
  const issues: { readonly id: string; readonly message: string }[] = [];
  const texts = writeEntries(parts.createWriter(format), parts.entries(), {
    written: () => {
      written += 1;
    },
    refused: (entry, message) => {
      refused += 1;
      if (issues.length < MAX_ISSUES) issues.push({ id: parts.idOf(entry), message });
    },
  });
  try {
    const { bytes, sha256 } = await writeExport(exchangeRoot(), file, texts, signal);
    return { file, format, include, bytes, sha256, written, refused, issues };
  } catch (error) {
    signal.throwIfAborted();
    throw exchangeTaskError(file, error);
  }
}
