import type { CallContext } from '../threads/serve.ts';
import { createCrc64, type Crc64 } from './crc64.ts';
import type { BlockDigests, ExtraDigest, StagedBytes } from './digests.ts';
import { FileHasher, type BlocksJob, type FileJob, type HashedFile } from './file-hasher.ts';
import { constants } from 'node:fs';
import { closeSync, fchmodSync, openSync, rmSync, writeSync } from '../files/file-changes.ts';

/** Nobody may change bytes that were hashed. */
const MODE = 0o444;

/**
 * Writes a new read-only file, synchronously: for worker threads. A file under the path, also a link or a read-only file,
 * is removed first. Neither the bytes nor the name are durable when it returns.
 *
 * @throws the file system error; no file is left
 */
function writeNewFile(path: string, bytes: Uint8Array): void {
  const fd = openNew(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW);
  try {
    for (let written = 0; written < bytes.length;) {
      written += writeSync(fd, bytes, written, bytes.length - written, written);
    }
    // The umask may have taken the right to read.
    fchmodSync(fd, MODE);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}

function openNew(path: string, flags: number): number {
  try {
    return openSync(path, flags, MODE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  rmSync(path, { force: true });
  return openSync(path, flags, MODE);
}

interface StageJob {
  readonly path: string;
  /** Returned with the result. Its first `length` bytes are the file. */
  readonly buffer: ArrayBuffer;
  readonly length: number;
  readonly extra: readonly ExtraDigest[];
}

/** What a hash thread does. */
export class HashStore {
  readonly #hasher = new FileHasher();
  #crc64: Promise<Crc64> | null = null;

  async #loadCrc64(): Promise<Crc64> {
    return await (this.#crc64 ??= createCrc64());
  }

  /** Hashes a file. */
  async file(job: FileJob, { signal, isWanted }: CallContext): Promise<HashedFile> {
    const crc = job.crc64 ? await this.#loadCrc64() : null;
    const hashed = isWanted() ? this.#hasher.hashFile(job, crc, isWanted) : null;
    if (hashed !== null) return hashed;
    throw signal.reason;
  }

  /** Hashes and writes a small file. It is not durable when the call resolves. */
  async stage({ path, buffer, length, extra }: StageJob, { transfer }: CallContext): Promise<StagedBytes> {
    const crc = await this.#loadCrc64();
    const bytes = Buffer.from(buffer, 0, length);
    const digests = this.#hasher.hashBytes(bytes, extra, crc);
    writeNewFile(path, bytes);
    transfer(buffer);
    return { digests, buffer };
  }

  /** Hashes the blocks of a part of a file. */
  blocks(job: BlocksJob, { signal, isWanted }: CallContext): BlockDigests {
    const hashed = isWanted() ? this.#hasher.hashBlocks(job, isWanted) : null;
    if (hashed !== null) return hashed;
    throw signal.reason;
  }
}

export function createStore(): HashStore {
  return new HashStore();
}
