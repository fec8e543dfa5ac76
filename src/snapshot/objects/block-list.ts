import { read } from 'node:fs';
import { promisify } from 'node:util';
import { BLOCK_DIGEST_BYTES, blockCount } from '../../domain/release/blocks.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { blake3Hex } from '../../platform/hashing/blake3.ts';
import { ObjectFault, objectFaultOf } from './object-fault.ts';
import { blockListPath } from '../volume/layout.ts';
import { openStoreFile } from './object-reader.ts';

const readAsync = promisify(read);

/** Bytes of the block list of an object of `size` bytes. */
export function blockListBytes(size: number): number {
  return blockCount(size) * BLOCK_DIGEST_BYTES;
}

export interface VerifiedPart {
  readonly blake3: Blake3Hex;
  readonly size: number;
  /** BLAKE3 of its block list, exactly for large objects. */
  readonly blocks?: Blake3Hex | undefined;
}

/**
 * Reads the block list of a large entry and verifies it against the manifest.
 *
 * @returns the BLAKE3 of each block, 32 bytes each, in order
 * @throws ObjectFault; `digest_mismatch` when the list is not the one that the manifest names
 */
export async function readBlockList(
  root: string,
  { blake3, size, blocks }: VerifiedPart,
): Promise<Uint8Array> {
  if (blocks === undefined) throw new RangeError(`object ${blake3} of ${size} bytes has no block list`);
  const length = blockListBytes(size);
  const file = await openStoreFile({
    path: blockListPath(root, blake3),
    blake3,
    size: length,
    what: 'block list of',
  });
  try {
    const bytes = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await readAsync(file.fd, bytes, filled, length - filled, filled);
      if (bytesRead === 0) {
        throw new ObjectFault(
          'size_mismatch',
          blake3,
          `the block list of ${blake3} became shorter while it was read`,
        );
      }
      filled += bytesRead;
    }
    if (blake3Hex(bytes) !== blocks) {
      throw new ObjectFault(
        'digest_mismatch',
        blake3,
        `the block list of ${blake3} does not match the digest in the manifest; repair the release`,
      );
    }
    return bytes;
  } catch (error) {
    throw error instanceof ObjectFault ? error : objectFaultOf(error, blake3, 'block list of');
  } finally {
    await file.close();
  }
}
