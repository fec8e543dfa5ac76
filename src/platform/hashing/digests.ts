import type { Blake3Hex, Crc64Decimal } from '../../domain/release/digest.ts';

/** What to compute beside BLAKE3 and CRC-64 when a file is hashed. */
interface HashRequest {
  /** Also compute the block list: the BLAKE3 of each block. Ignored for files of one block. */
  readonly blocks: boolean;
  /** Further digests, for the checks that an upstream asks for. */
  readonly extra: readonly ExtraDigest[];
}

export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** Digest kinds that upstreams state. */
export type ExtraDigest = 'sha256' | 'md5' | 'crc32';

/** Most bytes of a file that {@link HashPool.stageFile} writes. */
export const STAGED_MAX_BYTES = 1024 * 1024;

/** The `code` of the error for a file that got longer while it was hashed. */
export const FILE_CHANGED = 'FILE_CHANGED';

/** The digests of the content of one file, from one pass over its bytes. */
export interface ContentDigests {
  readonly size: number;
  readonly blake3: Blake3Hex;
  /** The block list, 32 bytes a block, in order; `null` for a file of one block or when not asked for. */
  readonly blocks: Uint8Array | null;
}

export interface BlockDigests {
  readonly size: number;
  readonly digests: Uint8Array;
}

/** Every digest of one file, from one pass over its bytes. */
export interface FileDigests extends ContentDigests {
  readonly crc64: Crc64Decimal;
  /** Lower-case hexadecimal (`sha256`, `md5`) or unsigned decimal (`crc32`). */
  readonly extra: Readonly<Partial<Record<ExtraDigest, string>>>;
}

export interface StagedBytes {
  readonly digests: FileDigests;
  readonly buffer: ArrayBuffer;
}

/** Hashes whole files in worker threads. The byte path hashes what it reads on the event loop. */
export interface HashPool {
  /** Name of the BLAKE3 implementation that is live, for logs and metrics. */
  readonly implementation: string;
  /**
   * Hashes the whole file behind an open descriptor, which the caller keeps open until the promise settles.
   *
   * @throws the file system error (`code` kept), or the signal's reason
   */
  hashFile(fd: number, request: HashRequest, signal?: AbortSignal): Promise<FileDigests>;
  /**
   * As {@link hashFile}, but only what identifies the content: more than twice as fast, for verification.
   *
   * @param request.fromDisk whether to read past the page cache of the system, so that damage of the disk is found behind
   *   a good copy in memory. Where the file system does not allow this, the page cache is read.
   * @throws the file system error (`code` kept), or the signal's reason
   */
  hashContent(
    fd: number,
    request: { readonly blocks: boolean; readonly fromDisk: boolean },
    signal?: AbortSignal,
  ): Promise<ContentDigests>;
  /**
   * Hashes each block of a part of a large file, past the page cache as `fromDisk` of {@link hashContent}.
   *
   * @param span begins at a block
   * @returns the bytes read (fewer than asked: the file ended early) and the digests of their blocks, 32 bytes each
   * @throws the file system error (`code` kept), or the signal's reason
   */
  hashBlocks(fd: number, span: ByteSpan, signal?: AbortSignal): Promise<BlockDigests>;
  /**
   * Writes the first `length` bytes of `buffer` (at most {@link STAGED_MAX_BYTES}) to a new file and hashes them, in one trip to a worker.
   * The file is read-only and replaces a file under the path. Neither its bytes nor its name are made durable.
   *
   * @param path absolute
   * @param buffer belongs to the pool until the promise resolves with it; after a rejection it is gone
   * @throws the file system error (`code` kept; no file is left), or the signal's reason when it was not begun yet
   */
  stageFile(
    path: string,
    buffer: ArrayBuffer,
    length: number,
    options: { readonly extra: readonly ExtraDigest[]; readonly signal?: AbortSignal },
  ): Promise<StagedBytes>;
  close(): Promise<void>;
}
