import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { BLOCK_BYTES, BLOCK_DIGEST_BYTES, hasBlockList } from '../../domain/release/blocks.ts';
import type { Blake3Hex, Crc64Decimal } from '../../domain/release/digest.ts';
import { errorCode } from '../files/error-code.ts';
import { createBlake3 } from './blake3.ts';
import type { Crc64 } from './crc64.ts';
import {
  FILE_CHANGED,
  type BlockDigests,
  type ByteSpan,
  type ContentDigests,
  type ExtraDigest,
  type FileDigests,
} from './digests.ts';

/** Synchronous reads of 64 to 128 KiB into one buffer are the fastest way: larger ones leave the processor's cache. */
const READ_BYTES = 128 * 1024;
/** Bytes of a read past the page cache, which nothing reads ahead for. */
const DIRECT_BYTES = 1024 * 1024;
/** Such a read must begin at a multiple of this; no file system in use asks for more. */
const DIRECT_ALIGNMENT = 4096;
const WASM_PAGE_BYTES = 64 * 1024;

declare const WebAssembly: {
  readonly Memory: new (limits: { readonly initial: number; readonly maximum: number }) => {
    readonly buffer: ArrayBuffer;
  };
};

export interface FileJob {
  /** A descriptor of the process; the main thread keeps it open. */
  readonly fd: number;
  readonly blocks: boolean;
  readonly crc64: boolean;
  readonly extra: readonly ExtraDigest[];
  readonly fromDisk: boolean;
}

export interface BlocksJob {
  readonly fd: number;
  readonly span: ByteSpan;
}

/** The digests of a file. Those that were not asked for are empty. */
export interface HashedFile extends ContentDigests {
  readonly crc64?: Crc64Decimal;
  readonly extra: FileDigests['extra'];
}

/** The file got longer while it was hashed, so its digests would be of something that never was its content. */
class FileChangedError extends Error {
  readonly code = FILE_CHANGED;

  constructor(size: number) {
    super(`the file grew past its ${size} bytes while it was hashed`);
    this.name = 'FileChangedError';
  }
}

/** Hashes with synchronous reads: for worker threads only. */
export class FileHasher {
  // Reads past the page cache need memory that begins at a page, which WebAssembly has and a Buffer has not.
  readonly #buffer = Buffer.from(
    new WebAssembly.Memory({
      initial: DIRECT_BYTES / WASM_PAGE_BYTES,
      maximum: DIRECT_BYTES / WASM_PAGE_BYTES,
    }).buffer,
  );

  /**
   * Hashes the file behind a descriptor.
   *
   * @param between called between two reads; false ends the work
   * @returns the digests, or `null` when `between` ended the work
   * @throws the file system error; FileChangedError
   */
  hashFile(job: FileJob, crc: Crc64 | null, between: () => boolean): HashedFile | null {
    const content = createBlake3();
    const size = fstatSync(job.fd).size;
    const blocks = job.blocks && hasBlockList(size) ? new BlockHasher(size) : null;
    const extra = job.extra.map(createExtra);
    crc?.reset();
    let position = 0;
    for (const bytes of this.#pieces(job.fd, { start: 0, end: Infinity }, job.fromDisk)) {
      position += bytes.length;
      if (position > size) throw new FileChangedError(size);
      content.update(bytes);
      blocks?.update(bytes);
      crc?.update(bytes);
      for (const digest of extra) digest.update(bytes);
      if (!between()) return null;
    }
    return {
      size: position,
      blake3: content.digest().toString('hex') as Blake3Hex,
      blocks: position === size ? (blocks?.digests() ?? null) : null,
      extra: Object.fromEntries(extra.map((digest) => [digest.kind, digest.digest()])),
      ...(crc === null ? {} : { crc64: crc.digest() }),
    };
  }

  /** Hashes each block of a part of a file, past the page cache. */
  hashBlocks({ fd, span }: BlocksJob, between: () => boolean): BlockDigests | null {
    const blocks = new BlockHasher(span.end - span.start);
    let size = 0;
    for (const bytes of this.#pieces(fd, span, true)) {
      size += bytes.length;
      blocks.update(bytes);
      if (!between()) return null;
    }
    return { size, digests: blocks.digests() };
  }

  *#pieces(fd: number, { start, end }: ByteSpan, fromDisk: boolean): Generator<Buffer> {
    const direct = fromDisk ? openPastPageCache(fd) : null;
    try {
      for (let position = start; position < end;) {
        const left = end - position;
        const bytesRead =
          (direct === null ? null : this.#readPastPageCache(direct, position)) ??
          readSync(fd, this.#buffer, 0, Math.min(READ_BYTES, left), position);
        if (bytesRead === 0) return;
        const taken = Math.min(bytesRead, left);
        position += taken;
        yield this.#buffer.subarray(0, taken);
      }
    } finally {
      if (direct !== null) closeSync(direct);
    }
  }

  #readPastPageCache(direct: number, position: number): number | null {
    // After the last bytes of a file of any length.
    if (position % DIRECT_ALIGNMENT !== 0) return null;
    try {
      return readSync(direct, this.#buffer, 0, DIRECT_BYTES, position);
    } catch (error) {
      // Some file systems open a file in this way, but do not read it.
      if (errorCode(error) === 'EINVAL') return null;
      throw error;
    }
  }

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
}

/**
 * Opens the file behind a descriptor once more, for reads that bypass the page cache.
 *
 * @returns `null` where the system or the file system does not support this
 */
function openPastPageCache(fd: number): number | null {
  const { O_DIRECT } = constants as { readonly O_DIRECT?: number };
  if (O_DIRECT === undefined) return null;
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_RDONLY | O_DIRECT);
  } catch {
    return null;
  }
}

class BlockHasher {
  readonly #hasher = createBlake3();
  readonly #digests: Uint8Array<ArrayBuffer>;
  #block = 0;
  #inBlock = 0;

  constructor(size: number) {
    this.#digests = new Uint8Array(Math.ceil(size / BLOCK_BYTES) * BLOCK_DIGEST_BYTES);
  }

  update(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const taken = Math.min(bytes.length - at, BLOCK_BYTES - this.#inBlock);
      this.#hasher.update(bytes.subarray(at, at + taken));
      this.#inBlock += taken;
      at += taken;
      if (this.#inBlock === BLOCK_BYTES) this.#endBlock();
    }
  }

  digests(): Uint8Array<ArrayBuffer> {
    if (this.#inBlock > 0) this.#endBlock();
    return this.#digests.slice(0, this.#block * BLOCK_DIGEST_BYTES);
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
    update: (bytes) => hash.update(bytes),
    digest: () => hash.digest('hex'),
  };
}
