import type { ExchangedKind, FormatName } from '../../contract/formats/exchange-formats.ts';
import type { FileReader } from '../../exchange/file-codec.ts';
import { type TaskContext, TaskError, type TaskResult } from '../tasks/task.ts';
import { type ExchangedFile, formatOf } from './exchange-arguments.ts';
import { type ImportCopy, withImportCopy } from './import-copy.ts';
import type { ImportReport } from './import-report.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { findBelowRoot } from '../../platform/files/below-root.ts';

interface ImportFolders {
  readonly exchangeRoot: () => string;
  readonly dataDirectory: string;
}

interface FileImport<Kind extends ExchangedKind, Item> {
  readonly kind: Kind;
  readonly maxBytes: number;
  /** Loads the code of the format. */
  readonly createReader: (format: FormatName<Kind>) => Promise<FileReader<Item>>;
  /** Stores the items, once the complete file is known to be valid. */
  readonly apply: (items: AsyncIterable<Item>) => Promise<ImportReport<string>>;
}

/**
 * Imports a file. The whole file is read before anything is changed.
 *
 * @throws TaskError; the signal's reason; the error of `apply`
 */
export async function importFile<Kind extends ExchangedKind, Item>(
  { exchangeRoot, dataDirectory: privateFolder }: ImportFolders,
  context: TaskContext<ExchangedFile<Kind> & { readonly trusted: boolean; readonly dry_run: boolean }>,
  { kind, maxBytes, createReader, apply }: FileImport<Kind, Item>,
): Promise<TaskResult> {
  const { args, reviewer, signal } = context;
  const { file, trusted, dry_run } = args;
  if (trusted && (reviewer === null || reviewer.trim() === '')) {
    throw new TaskError(
      'reviewer_missing',
      'a trusted import needs reviewer=, the person who vouches for it',
    );
  }
  const format = formatOf(args, kind);
  const source = { root: exchangeRoot(), privateFolder, file, maxBytes, signal };
  try {
    return await withImportCopy(source, async (copy) => {
      await validateItems(copy, await createReader(format), context);
      const report = await apply(readItems(copy, await createReader(format), context, 'import'));
      const { bytes, sha256 } = copy;
      return { file, format, bytes, sha256, trusted, dry_run, ...report.result() };
    });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

/**
 * Reads the items of a copied file one by one, and reports the progress in bytes.
 *
 * @throws ExchangeFileError; the signal's reason
 */
async function* readItems<T>(
  copy: ImportCopy,
  reader: FileReader<T>,
  context: TaskContext<unknown>,
  phase: string,
): AsyncGenerator<T> {
  let done = 0;
  for await (const piece of copy.read()) {
    context.signal.throwIfAborted();
    yield* reader.write(piece);
    done += piece.length;
    context.progress(done, copy.bytes, 'bytes', phase);
  }
  yield* reader.end();
}

/** Reads a copied file to its end, to find out whether it is refused. @throws ExchangeFileError; the signal's reason */
async function validateItems(
  copy: ImportCopy,
  reader: FileReader<unknown>,
  context: TaskContext<unknown>,
): Promise<void> {
  const items = readItems(copy, reader, context, 'validate');
  while ((await items.next()).done !== true);
}

/**
 * Checks that a file which a caller names is in the exchange folder, before a job is queued for it.
 *
 * @param file relative to the folder
 * @throws ServiceError `invalid_path`, `file_not_found`
 */
export async function requireExchangedFile(exchangeRoot: string, file: string): Promise<void> {
  if ((await findBelowRoot(exchangeRoot, file)) !== null) return;
  throw new ServiceError('file_not_found', `the exchange folder has no file "${file}"`);
}
