import type { ExtraDigest, FileDigests } from '../../platform/hashing/digests.ts';

/** What is known of the bytes of a file that were received. */
export interface HeldBytes {
  /** The validator under which they were received, or `null`. */
  readonly validator: string | null;
  /** Whether the bytes that follow them may be asked for. */
  readonly isResumable: boolean;
}

/** No bytes, or none that can be continued. */
export const NOTHING_HELD: HeldBytes = { validator: null, isResumable: false };

/** A file on its way into the staging directory: received, hashed, then kept or thrown away. */
export interface StagedFile {
  readonly length: number;
  readonly held: HeldBytes;
  /** Notes how the bytes that follow are received, and how many the file will have. */
  begin(held: HeldBytes, expectedBytes: number | null): Promise<void>;
  /** Takes the bytes that follow; the chunks belong to it from then on. */
  append(chunks: readonly Uint8Array[]): Promise<void>;
  /** Discards the received bytes, to start over. */
  restart(): Promise<void>;
  /**
   * Everything was received: hashes it.
   *
   * @throws the file system error, `code` kept, or the signal's reason
   */
  hash(extra: readonly ExtraDigest[], signal: AbortSignal): Promise<FileDigests>;
  finish(): Promise<void>;
  /** Closes the file and keeps it, so that a later call can resume. */
  keep(): Promise<void>;
  /** Closes the file and deletes everything. */
  discard(): Promise<void>;
}

/**
 * Frees the memory of a received chunk immediately, if nothing else shares it. Left to the garbage collector, a release would
 * keep it busy: chunks are small objects with large memory outside of its heap.
 *
 * @param chunk belongs to the caller and is not used again; it is empty afterwards or as it was
 */
export function releaseChunk(chunk: Uint8Array): void {
  const { buffer } = chunk;
  if (buffer instanceof ArrayBuffer && chunk.byteLength > 0 && chunk.byteLength === buffer.byteLength) {
    buffer.transfer(0);
  }
}
