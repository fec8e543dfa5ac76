import { writeNewFile } from '../files/write-new-file.ts';
import type { CallContext } from '../threads/thread-protocol.ts';
import { createCrc64, type Crc64 } from './crc64.ts';
import type { ExtraDigest, StagedBytes } from './digests.ts';
import { FileHasher, type BlockJob, type FileJob, type HashedBlock, type HashedFile } from './file-hasher.ts';

/** A small file whose bytes are in memory. */
export interface StageJob {
  readonly path: string;
  /** Returned with the result. Its first `length` bytes are the file. */
  readonly buffer: ArrayBuffer;
  readonly length: number;
  readonly extra: readonly ExtraDigest[];
}

/** The functions of a hash thread. */
export interface HashCalls {
  /** Hashes a file. Blocks that arrive meanwhile are hashed between two reads. */
  file(job: FileJob, context: CallContext): Promise<HashedFile>;
  /** Hashes and writes a small file. It is not durable when the call resolves. */
  stage(job: StageJob, context: CallContext): Promise<StagedBytes>;
  /** Reads and hashes a block. */
  block(job: BlockJob, context: CallContext): HashedBlock;
}

/** Makes the functions that a hash thread runs. */
export function createCalls(): HashCalls {
  const hasher = new FileHasher();
  let crc64: Promise<Crc64> | null = null;
  const loadCrc64 = async (): Promise<Crc64> => await (crc64 ??= createCrc64());
  return {
    file: async (job, { signal, isWanted }) => {
      const crc = job.crc64 ? await loadCrc64() : null;
      const hashed = isWanted() ? hasher.hashFile(job, crc, isWanted) : null;
      if (hashed !== null) return hashed;
      throw signal.reason;
    },
    stage: async ({ path, buffer, length, extra }, { transfer }) => {
      const crc = await loadCrc64();
      const bytes = Buffer.from(buffer, 0, length);
      const digests = hasher.hashBytes(bytes, extra, crc);
      writeNewFile(path, bytes);
      transfer(buffer);
      return { digests, buffer };
    },
    block: (job, { transfer }) => {
      const hashed = hasher.hashBlock(job);
      transfer(hashed.bytes.buffer);
      return hashed;
    },
  };
}
