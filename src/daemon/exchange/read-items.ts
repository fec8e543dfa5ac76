import type { TaskContext } from '../tasks/task.ts';
import type { ImportCopy } from './import-copy.ts';

/** Reads the items of one format piece by piece. */
export interface ItemReader<T> {
  write(bytes: Uint8Array): readonly T[];
  end(): readonly T[];
}

/**
 * Reads the items of a copied file one by one, and reports the progress in bytes.
 *
 * @throws ExchangeFileError; the signal's reason
 */
export async function* readItems<T>(
  copy: ImportCopy,
  reader: ItemReader<T>,
  context: Pick<TaskContext, 'signal' | 'progress'>,
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
  reader: ItemReader<unknown>,
  context: Pick<TaskContext, 'signal' | 'progress'>,
): Promise<void> {
  const items = readItems(copy, reader, context, 'validate');
  while ((await items.next()).done !== true);
}
