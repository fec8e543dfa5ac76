import { TaskError, type TaskContext, type TaskResult } from '../tasks/task.ts';
import { formatOf, type ExchangedFile } from './exchange-arguments.ts';
import { withImportCopy } from './import-copy.ts';
import type { ImportReport } from './import-report.ts';
import { readItems, validateItems, type ItemReader } from './read-items.ts';

/** The folders of an import. */
export interface ImportFolders {
  /** The folder of exchanged files. */
  readonly exchangeRoot: () => string;
  /** The private folder of the daemon. */
  readonly dataDirectory: string;
}

/** How the files of one kind are imported. */
export interface FileImport<Format extends string, Item> {
  readonly formats: readonly Format[];
  /** Largest file. */
  readonly maxBytes: number;
  readonly createReader: (format: Format) => ItemReader<Item>;
  /** Stores the items, once the whole file is known to be valid. */
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
    throw new TaskError('reviewer_missing', 'a trusted import needs reviewer=, the person who stands for it');
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
