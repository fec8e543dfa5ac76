import { createHash } from 'node:crypto';
import { fstatSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { BLOCK_DIGEST_BYTES, BLOCK_SIZE, blockCount, hasBlockList } from '../../domain/release/blocks.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { createBlake3 } from './blake3.ts';
import type { Crc64 } from './crc64.ts';
import {
  FILE_CHANGED,
  type ByteSpan,
  type ContentDigests,
  type ExtraDigest,
  type FileDigests,
} from './digests.ts';

/** Synchronous reads of 64 to 128 KiB into one buffer are the fastest way: larger ones leave the processor's cache. */
const READ_BYTES = 128 * 1024;

/** A whole file to hash, or a part of it. */
export interface FileJob {
  /** A descriptor of the process; the main thread keeps it open. */
  readonly fd: number;
  readonly blocks: boolean;
  readonly crc64: boolean;
  readonly extra: readonly ExtraDigest[];
  /** The part; without it, all of the file. */
  readonly span?: ByteSpan | undefined;
}

/** A block to read and hash. */
export interface BlockJob {
  readonly fd: number;
  readonly start: number;
  readonly end: number;
}

/** The digests of a file. Those that were not asked for are empty. */
export type HashedFile = ContentDigests & Partial<Pick<FileDigests, 'crc64'>> & Pick<FileDigests, 'extra'>;

/** The bytes of a block and their digest. */
export interface HashedBlock {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly blake3: Uint8Array;
}

/** The file got longer while it was hashed, so its digests would be of something that never was its content. */
export class FileChangedError extends Error {
  readonly code = FILE_CHANGED;

  constructor(size: number) {
    super(`the file grew past its ${size} bytes while it was hashed`);
    this.name = 'FileChangedError';
  }
}

/** Hashes with synchronous reads: for worker threads only. */
export class FileHasher {
  readonly #buffer = Buffer.allocUnsafeSlow(READ_BYTES);

  /**
   * Hashes the file behind a descriptor, or the part of it that the job names.
   *
   * @param crc is reset and used, where the CRC-64 was asked for
   * @param between called between two reads; false ends the work
   * @returns the digests, or `null` when `between` ended the work
   * @throws the file system error; FileChangedError
   */
  hashFile(job: FileJob, crc: Crc64 | null, between: () => boolean): HashedFile | null {
    const content = createBlake3();
    const size = fstatSync(job.fd).size;
    const { start, end } = job.span ?? { start: 0, end: Infinity };
    const blocks = job.blocks && hasBlockList(size) ? new BlockHasher(size) : null;
    const extra = job.extra.map(createExtra);
    crc?.reset();
    let position = start;
    while (position < end) {
      const bytesRead = readSync(job.fd, this.#buffer, 0, Math.min(READ_BYTES, end - position), position);
      if (bytesRead === 0) break;
      const bytes = this.#buffer.subarray(0, bytesRead);
      position += bytesRead;
      if (position > size) throw new FileChangedError(size);
      content.update(bytes);
      blocks?.update(bytes);
      crc?.update(bytes);
      for (const digest of extra) digest.update(bytes);
      if (!between()) return null;
    }
    return {
      size: position - start,
      blake3: content.digest().toString('hex') as Blake3Hex,
      blocks: position === size ? (blocks?.digests() ?? null) : null,
      extra: Object.fromEntries(extra.map((digest) => [digest.kind, digest.digest()])),
      ...(crc === null ? {} : { crc64: crc.digest() }),
    };
  }

  /** Hashes bytes in memory, at most one block. */
  hashBytes(bytes: Uint8Array, kinds: readonly ExtraDigest[], crc: Crc64): FileDigests {
    const content = createBlake3();
    const extra = kinds.map(createExtra);
    crc.reset();
    // In pieces that stay in the processor's cache from one digest to the next.
    for (let at = 0; at < bytes.length; at += READ_BYTES) {
      const piece = bytes.subarray(at, at + READ_BYTES);
      content.update(piece);
      crc.update(piece);
      for (const digest of extra) digest.update(piece);
    }
    return {
      size: bytes.length,
      blake3: content.digest().toString('hex') as Blake3Hex,
      blocks: null,
      crc64: crc.digest(),
      extra: Object.fromEntries(extra.map((digest) => [digest.kind, digest.digest()])),
    };
  }

  /** Reads one block into new memory and hashes it. Throws the file system error. */
  hashBlock({ fd, start, end }: BlockJob): HashedBlock {
    const bytes = Buffer.allocUnsafeSlow(end - start);
    let filled = 0;
    while (filled < bytes.length) {
      const bytesRead = readSync(
        fd,
        bytes,
        filled,
        Math.min(READ_BYTES, bytes.length - filled),
        start + filled,
      );
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    const read = bytes.subarray(0, filled);
    const hasher = createBlake3();
    hasher.update(read);
    return { bytes: read, blake3: Uint8Array.from(hasher.digest()) };
  }
}

/** Computes a block list from pieces of any length. */
class BlockHasher {
  readonly #hasher = createBlake3();
  readonly #digests: Uint8Array<ArrayBuffer>;
  #block = 0;
  #inBlock = 0;

  constructor(size: number) {
    this.#digests = new Uint8Array(blockCount(size) * BLOCK_DIGEST_BYTES);
  }

  update(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const taken = Math.min(bytes.length - at, BLOCK_SIZE - this.#inBlock);
      this.#hasher.update(bytes.subarray(at, at + taken));
      this.#inBlock += taken;
      at += taken;
      if (this.#inBlock === BLOCK_SIZE) this.#endBlock();
    }
  }

  digests(): Uint8Array<ArrayBuffer> {
    if (this.#inBlock > 0) this.#endBlock();
    return this.#digests;
  }

  #endBlock(): void {
    this.#digests.set(this.#hasher.digest(), this.#block * BLOCK_DIGEST_BYTES);
    this.#hasher.reset();
    this.#block += 1;
    this.#inBlock = 0;
  }
}

interface Extra {
  readonly kind: ExtraDigest;
  update(bytes: Uint8Array): void;
  digest(): string;
}

function createExtra(kind: ExtraDigest): Extra {
  if (kind === 'crc32') {
    let value = 0;
    return {
      kind,
      update: (bytes) => {
        value = crc32(bytes, value);
      },
      digest: () => String(value >>> 0),
    };
  }
  const hash = createHash(kind);
  return {
    kind,
    update: (bytes) => {
      hash.update(bytes);
    },
    digest: () => hash.digest('hex'),
  };
}
