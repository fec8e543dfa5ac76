import type { Blake3Hex, Crc64Decimal } from '../../domain/release/digest.ts';

/** What to compute beside BLAKE3 and CRC-64 when a file is hashed. */
export interface HashRequest {
  /** Also compute the block list (BLAKE3 of each 1 MiB block). Ignored for files of one block. */
  readonly blocks: boolean;
  /** Further digests, for the checks that an upstream asks for. */
  readonly extra: readonly ExtraDigest[];
}

/** The bytes `[start, end)` of a file. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** Digest kinds that upstreams state. */
export type ExtraDigest = 'sha256' | 'md5' | 'crc32';

/** The `code` of the error for a file that got longer while it was hashed. */
export const FILE_CHANGED = 'FILE_CHANGED';

/** The digests of the content of one file, from one pass over its bytes. */
export interface ContentDigests {
  /** Bytes read. */
  readonly size: number;
  readonly blake3: Blake3Hex;
  /** The block list, 32 bytes a block, in order; `null` for a file of one block or when not asked for. */
  readonly blocks: Uint8Array | null;
}

/** Every digest of one file, from one pass over its bytes. */
export interface FileDigests extends ContentDigests {
  readonly crc64: Crc64Decimal;
  /** Lower-case hexadecimal (`sha256`, `md5`) or unsigned decimal (`crc32`). */
  readonly extra: Readonly<Partial<Record<ExtraDigest, string>>>;
}

/** A file that was written whole, and the memory its bytes came in. */
export interface StagedBytes {
  readonly digests: FileDigests;
  readonly buffer: ArrayBuffer;
}

/** Hashes in worker threads; the event loop never hashes file contents itself. */
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
   * As {@link hashFile}, but only what identifies the content: more than twice as fast, for verification. With a span, of
   * these bytes only; what a client waits for overtakes it as it does a whole file.
   *
   * @throws the file system error (`code` kept), or the signal's reason
   */
  hashContent(
    fd: number,
    request: Pick<HashRequest, 'blocks'> & { readonly span?: ByteSpan },
    signal?: AbortSignal,
  ): Promise<ContentDigests>;
  /**
   * Writes the first `length` bytes of `buffer` (at most 1 MiB) to a new file and hashes them, in one trip to a worker.
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
  /**
   * Reads `[start, end)` (at most 1 MiB) of an open descriptor and hashes it.
   *
   * @returns the bytes read and their BLAKE3 (32 bytes); fewer bytes than asked mean that the file ended early
   */
  hashBlock(
    fd: number,
    start: number,
    end: number,
  ): Promise<{ readonly bytes: Buffer; readonly blake3: Uint8Array }>;
  /** Ends the workers; pending calls reject. */
  close(): Promise<void>;
}
