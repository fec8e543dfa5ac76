import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { createXXHash32, createXXHash64 } from 'hash-wasm';

/** The algorithms that catalogs of games state checksums by. */
export const CHECKSUM_ALGORITHMS = ['crc32', 'md5', 'sha1', 'sha256', 'xxh32', 'xxh64'] as const;

export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number];

export interface FileFigures {
  readonly size: number;
  /** In hexadecimal digits, lower case. */
  readonly checksums: Readonly<Record<ChecksumAlgorithm, string>>;
}

// Making a hasher takes longer than hashing a small file, so all files share these. A call resets them and never waits, so the
// bytes of two files never meet.
const [xxh32, xxh64] = [await createXXHash32(), await createXXHash64()];

/** Computes the figures of a file in one pass over its bytes. */
export function figuresOf(chunks: Iterable<Uint8Array>): FileFigures {
  const [md5, sha1, sha256] = ['md5', 'sha1', 'sha256'].map((name) => createHash(name));
  xxh32.init();
  xxh64.init();
  let size = 0;
  let crc = 0;
  for (const chunk of chunks) {
    size += chunk.length;
    crc = crc32(chunk, crc);
    for (const hash of [md5, sha1, sha256, xxh32, xxh64]) hash?.update(chunk);
  }
  return {
    size,
    checksums: {
      crc32: crc.toString(16).padStart(8, '0'),
      md5: md5?.digest('hex') ?? '',
      sha1: sha1?.digest('hex') ?? '',
      sha256: sha256?.digest('hex') ?? '',
      xxh32: xxh32.digest('hex'),
      xxh64: xxh64.digest('hex'),
    },
  };
}
