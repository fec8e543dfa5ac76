import { blockBytesOf, blockCount } from '../../src/domain/release/blocks.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';

/** The block list of a large object, computed from its bytes. */
export function blockListOf(bytes: Buffer): Buffer {
  return Buffer.concat(
    Array.from({ length: blockCount(bytes.length) }, (_, block) => {
      const start = block * blockBytesOf(bytes.length);
      return Buffer.from(blake3Hex(bytes.subarray(start, start + blockBytesOf(bytes.length))), 'hex');
    }),
  );
}
