import type { FileReader } from '../../exchange/file-codec.ts';
import type { TaskContext } from '../tasks/task.ts';
import type { ImportCopy } from './import-copy.ts';

type FileProgress = Pick<TaskContext, 'signal' | 'progress'>;

/**
 * Reads the items of a copied file one by one, and reports the progress in bytes.
 *
 * @throws ExchangeFileError; the signal's reason
 */
export async function* readItems<T>(
  copy: ImportCopy,
  reader: FileReader<T>,
  context: FileProgress,
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
export async function validateItems(
  copy: ImportCopy,
  reader: FileReader<unknown>,
  context: FileProgress,
): Promise<void> {
  const items = readItems(copy, reader, context, 'validate');
  while ((await items.next()).done !== true);
}
