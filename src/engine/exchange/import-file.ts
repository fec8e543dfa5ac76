import type { FileReader } from '../../exchange/file-codec.ts';
import { TaskError, type TaskContext, type TaskResult } from '../tasks/task.ts';
import { formatOf, type ExchangedFile } from './exchange-arguments.ts';
import { withImportCopy } from './import-copy.ts';
import type { ImportReport } from './import-report.ts';
import { readItems, validateItems } from './read-items.ts';

interface ImportFolders {
  readonly exchangeRoot: () => string;
  readonly dataDirectory: string;
}

interface FileImport<Format extends string, Item> {
  readonly formats: readonly Format[];
  readonly maxBytes: number;
  readonly createReader: (format: Format) => FileReader<Item>;
  /** Stores the items, once the complete file is known to be valid. */
  readonly apply: (items: AsyncIterable<Item>) => Promise<ImportReport<string>>;
}

/**
 * Imports a file. The whole file is read before anything is changed.
 *
 * @throws TaskError; the signal's reason; the error of `apply`
 */
export async function importFile<Format extends string, Item>(
  { exchangeRoot, dataDirectory: privateFolder }: ImportFolders,
  context: TaskContext<ExchangedFile<Format> & { readonly trusted: boolean; readonly dry_run: boolean }>,
  { formats, maxBytes, createReader, apply }: FileImport<Format, Item>,
): Promise<TaskResult> {
  const { args, reviewer, signal } = context;
  const { file, trusted, dry_run } = args;
  if (trusted && (reviewer === null || reviewer.trim() === '')) {
    throw new TaskError(
      'reviewer_missing',
      'a trusted import needs reviewer=, the person who vouches for it',
    );
  }
  const format = formatOf(args, formats);
  const source = { root: exchangeRoot(), privateFolder, file, maxBytes, signal };
  try {
    return await withImportCopy(source, async (copy) => {
      await validateItems(copy, createReader(format), context);
      const report = await apply(readItems(copy, createReader(format), context, 'import'));
      const { bytes, sha256 } = copy;
      return { file, format, bytes, sha256, trusted, dry_run, ...report.result() };
    });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
