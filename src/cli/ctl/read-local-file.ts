import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { ExchangeFileError } from '../../contract/formats/exchange-file-error.ts';
import { messageOf } from '../../platform/errors.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';

/** Bounds of a file, because its items are in memory until they are sent. */
interface FileBounds {
  readonly maxBytes: number;
  readonly maxItems: number;
  /** What the items are, such as `units`. */
  readonly items: string;
  /** What to do with a larger file. */
  readonly advice: string;
}

/**
 * Reads a local file to its end.
 *
 * @returns its items, and the SHA-256 of its bytes in hexadecimal
 * @throws CtlFailure for a file that cannot be read, is refused, or is beyond the bounds
 */
export async function readLocalFile<T>(
  path: string,
  reader: { write(bytes: Uint8Array): readonly T[]; end(): Iterable<T> | AsyncIterable<T> },
  { maxBytes, maxItems, items: noun, advice }: FileBounds,
): Promise<{ readonly items: readonly T[]; readonly sha256: string }> {
  const hash = createHash('sha256');
  const items: T[] = [];
  let bytes = 0;
  const take = (read: readonly T[]): void => {
    for (const item of read) items.push(item);
    if (bytes <= maxBytes && items.length <= maxItems) return;
    const bound = bytes > maxBytes ? `${maxBytes} bytes` : `${maxItems} ${noun}`;
    throw new CtlFailure(CTL_EXITS.usage, `${path} has more than ${bound}; ${advice}`);
  };
  try {
    for await (const piece of createReadStream(path)) {
      const part = piece as Buffer;
      bytes += part.length;
      hash.update(part);
      take(reader.write(part));
    }
    for await (const item of reader.end()) take([item]);
  } catch (error) {
    if (error instanceof ExchangeFileError) {
      const message = `${path}: ${error.message} (${error.reason}); nothing was changed`;
      throw new CtlFailure(CTL_EXITS.failed, message, { cause: error });
    }
    if (errorCode(error) === null) throw error;
    throw new CtlFailure(CTL_EXITS.usage, `cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
  return { items, sha256: hash.digest('hex') };
}
