import { readSync } from 'node:fs';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import type { HashPool } from '../../src/platform/hashing/digests.ts';

/** The part of a hash pool that readers of blocks use, without threads. Its digests are real. */
export function createBlockHashPool(): Pick<HashPool, 'hashBlock'> {
  return {
    hashBlock: async (fd, start, end) => {
      const buffer = Buffer.alloc(end - start);
      const bytes = buffer.subarray(0, readSync(fd, buffer, 0, buffer.length, start));
      return await Promise.resolve({ bytes, blake3: Buffer.from(blake3Hex(bytes), 'hex') });
    },
  };
}
