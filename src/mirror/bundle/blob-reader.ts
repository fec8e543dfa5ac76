import { createHash } from 'node:crypto';
import type { Descriptor } from '../../contract/formats/bundle-format.ts';
import { BundleError } from './bundle-error.ts';

/** Somewhere that holds the blobs of bundles: an archive, a folder, a registry. Nothing that it gives has been verified. */
export interface BlobReader {
  /** Where the blobs are, for messages. */
  readonly label: string;
  /**
   * The bytes `[start, end)` of a blob, piece by piece.
   *
   * @throws BundleError when the blob is not there or shorter
   */
  read(blob: Descriptor, start: number, end: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/**
 * Reads a whole blob and compares it with its digest.
 *
 * @throws BundleError when it is larger than allowed, or other bytes than its digest says
 */
export async function readBlob(
  reader: BlobReader,
  blob: Descriptor,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer> {
  if (blob.size > maxBytes) {
    throw new BundleError(`${reader.label}: ${blob.mediaType} has ${blob.size} bytes, more than ${maxBytes}`);
  }
  const pieces: Uint8Array[] = [];
  for await (const piece of checkedBlob(reader, blob, signal)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** The bytes of a whole blob; the iteration throws BundleError at the end when they are not as its digest says. */
export async function* checkedBlob(
  reader: BlobReader,
  blob: Descriptor,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const hash = createHash('sha256');
  for await (const piece of reader.read(blob, 0, blob.size, signal)) {
    hash.update(piece);
    yield piece;
  }
  const found = `sha256:${hash.digest('hex')}`;
  if (found !== blob.digest) {
    throw new BundleError(`${reader.label}: the blob ${blob.digest} has the digest ${found}: it is damaged`);
  }
}

/** The lines of a text that arrives in pieces, without their line feeds. Throws BundleError for a line that is too long. */
export async function* linesOf(
  pieces: AsyncIterable<Uint8Array>,
  maxBytes: number,
  label: string,
): AsyncGenerator<string[], void> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytes = Buffer.concat([rest, piece]);
    const end = bytes.lastIndexOf(0x0a) + 1;
    rest = bytes.subarray(end);
    if (rest.length > maxBytes) throw new BundleError(`${label}: a line has more than ${maxBytes} bytes`);
    if (end > 0) yield bytes.toString('utf8', 0, end - 1).split('\n');
  }
  if (rest.length > 0) throw new BundleError(`${label}: the last line has no end`);
}
