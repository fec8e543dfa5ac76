import type { ExtraDigest, FileDigests } from '../../../platform/hashing/digests.ts';

/** A file on its way into the staging directory: received, hashed, then kept or thrown away. */
export interface StagedFile {
  /** Bytes received so far. */
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
  /** Closes the file under its staged name. */
  finish(): Promise<void>;
  /** Closes the file and keeps it, so that a later call can resume. */
  keep(): Promise<void>;
  /** Closes the file and deletes everything. */
  discard(): Promise<void>;
}
