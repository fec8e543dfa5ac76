import type { ExtraDigest, FileDigests } from '../../platform/hashing/digests.ts';

/** A file on its way into the staging directory: received, hashed, then kept or thrown away. */
export interface StagedFile {
  readonly length: number;
  /** The validator under which they were received; `null` when no range may be asked for. */
  readonly validator: string | null;
  /** Notes under which validator the bytes that follow are received, and how many the file will have. */
  begin(validator: string | null, expectedBytes: number | null): Promise<void>;
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
