import { join } from 'node:path';
import type { ExchangedKind, FormatName } from '../../contract/formats/exchange-formats.ts';
import { writeEntries, type FileWriter } from '../../exchange/file-codec.ts';
import type { TaskContext, TaskResult } from '../tasks/task.ts';
import { formatOf, type ExchangedFile } from './exchange-arguments.ts';
import { exchangeTaskError } from './exchange-failure.ts';
import { writeExport } from './write-export.ts';

const MAX_ISSUES = 200;

interface FileExport<Kind extends ExchangedKind, Entry> {
  readonly kind: Kind;
  /** Loads the code of the format. */
  readonly createWriter: (format: FormatName<Kind>) => Promise<FileWriter<Entry>>;
  readonly entries: () => AsyncIterable<Entry>;
  readonly idOf: (entry: Entry) => string;
}

/**
 * Writes entries to a file.
 *
 * @param exchangeRoot the folder of exchanged files
 * @throws TaskError; the signal's reason; the error of the entries
 */
export async function exportFile<Kind extends ExchangedKind, Entry>(
  exchangeRoot: () => string,
  { args, signal }: TaskContext<ExchangedFile<Kind> & { readonly include: string }>,
  parts: FileExport<Kind, Entry>,
): Promise<TaskResult> {
  const { file, include } = args;
  const format = formatOf(args, parts.kind);
  let written = 0;
  let refused = 0;
  const issues: { readonly id: string; readonly message: string }[] = [];
  const texts = writeEntries(await parts.createWriter(format), parts.entries(), {
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
    return {
      file,
      path: join(exchangeRoot(), file),
      format,
      include,
      bytes,
      sha256,
      written,
      refused,
      issues,
    };
  } catch (error) {
    signal.throwIfAborted();
    throw exchangeTaskError(file, error);
  }
}
