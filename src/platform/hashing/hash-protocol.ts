import type { MessagePort } from 'node:worker_threads';
import type { ByteSpan, ContentDigests, ExtraDigest, FileDigests } from './digests.ts';

/** A whole file to hash, or a part of it. Runs until its end; one at a time in each worker. */
export interface FileJob {
  readonly id: number;
  readonly kind: 'file';
  readonly fd: number;
  readonly blocks: boolean;
  readonly crc64: boolean;
  readonly extra: readonly ExtraDigest[];
  /** The part; without it, all of the file. */
  readonly span?: ByteSpan | undefined;
}

/** A small file whose bytes are in memory: written and hashed in one go. */
export interface StageJob {
  readonly id: number;
  readonly kind: 'stage';
  readonly path: string;
  /** Comes back with the answer. Its first `length` bytes are the file. */
  readonly buffer: ArrayBuffer;
  readonly length: number;
  readonly extra: readonly ExtraDigest[];
}

/** A block to read and hash. Overtakes the file that its worker is at, because a client waits for it. */
export interface BlockJob {
  readonly id: number;
  readonly kind: 'block';
  readonly fd: number;
  readonly start: number;
  readonly end: number;
}

/** What a worker says of a file that it hashed. Digests that were not asked for are empty. */
export type HashedFile = ContentDigests & Partial<Pick<FileDigests, 'crc64'>> & Pick<FileDigests, 'extra'>;

/** What a worker says of a block. */
export interface HashedBlock {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly blake3: Uint8Array;
}

/** The answer to one job. */
export type HashAnswer =
  | { readonly id: number; readonly kind: 'file'; readonly result: HashedFile }
  | {
      readonly id: number;
      readonly kind: 'staged';
      readonly result: FileDigests;
      readonly buffer: ArrayBuffer;
    }
  | { readonly id: number; readonly kind: 'block'; readonly result: HashedBlock }
  | { readonly id: number; readonly kind: 'aborted' }
  | { readonly id: number; readonly kind: 'failed'; readonly message: string; readonly code: string | null };

/** What a worker gets at its start. */
export interface HashWorkerData {
  /** Where block jobs arrive; looked at between two reads of a file. */
  readonly urgent: MessagePort;
  /** One number, shared: the id of the file job that is to stop. */
  readonly abort: Int32Array<SharedArrayBuffer>;
}
