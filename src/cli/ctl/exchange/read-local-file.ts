import { createReadStream } from 'node:fs';
import { ExchangeFileError } from '../../../contract/formats/exchange-file-error.ts';
import { messageOf } from '../../../platform/errors.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';

/** Bounds of a file: its entries are in memory until they are sent. */
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_ITEMS = 200_000;

/**
 * Reads a local file to its end.
 *
 * @throws CtlFailure for a file that cannot be read, is refused, or is beyond the bounds
 */
export async function readLocalFile<T>(
  path: string,
  reader: { write(bytes: Uint8Array): readonly T[]; end(): readonly T[] },
): Promise<T[]> {
  const items: T[] = [];
  let bytes = 0;
  try {
    for await (const piece of createReadStream(path)) {
      const part = piece as Buffer;
      bytes += part.length;
      items.push(...reader.write(part));
      if (bytes > MAX_BYTES || items.length > MAX_ITEMS) {
        throw new CtlFailure(
          CTL_EXITS.usage,
          `${path} has more than ${MAX_BYTES} bytes or ${MAX_ITEMS} entries; put it into the exchange folder of the daemon and add --exchange`,
        );
      }
    }
    items.push(...reader.end());
    return items;
  } catch (error) {
    if (error instanceof ExchangeFileError) {
      throw new CtlFailure(CTL_EXITS.failed, `${path}: ${error.message}; nothing was changed`, {
        cause: error,
      });
    }
    if (errorCode(error) === null) throw error;
    throw new CtlFailure(CTL_EXITS.usage, `cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
}
