import type { ExtraDigest, FileDigests, HashPool } from '../../platform/hashing/digests.ts';
import type { SpareBuffers } from '../../platform/memory/spare-buffers.ts';
import { NOTHING_HELD, releaseChunk, type HeldBytes, type StagedFile } from './staged-file.ts';
import { rm } from '../../platform/files/file-changes.ts';

/** Largest file that is gathered in memory: one trip to a worker, and no part to look after. */
export const SMALL_FILE_BYTES = 1024 * 1024;

export interface SmallFileTools {
  readonly pool: HashPool;
  readonly buffers: SpareBuffers;
}

/**
 * A small file, gathered in memory, and written and hashed by a worker once it is whole. A release has
 * thousands of these, and each trip to the file system costs as much as receiving a hundred kilobytes. Only the running
 * call can resume it.
 */
export class SmallFile implements StagedFile {
  readonly #stagedPath: string;
  readonly #size: number;
  readonly #tools: SmallFileTools;
  #buffer: ArrayBuffer | null = null;
  #length = 0;
  #held = NOTHING_HELD;
  #written = false;

  /** @param size bytes that the file will have at most, no more than {@link SMALL_FILE_BYTES} */
  constructor(stagedPath: string, size: number, tools: SmallFileTools) {
    this.#stagedPath = stagedPath;
    this.#size = size;
    this.#tools = tools;
  }

  get length(): number {
    return this.#length;
  }

  get held(): HeldBytes {
    return this.#held;
  }

  async begin(held: HeldBytes): Promise<void> {
    this.#held = held;
  }

  async append(chunks: readonly Uint8Array[]): Promise<void> {
    this.#buffer ??= this.#tools.buffers.take(this.#size);
    const bytes = new Uint8Array(this.#buffer);
    for (const chunk of chunks) {
      bytes.set(chunk, this.#length);
      this.#length += chunk.length;
      releaseChunk(chunk);
    }
  }

  async restart(): Promise<void> {
    await this.discard();
  }

  async hash(extra: readonly ExtraDigest[], signal: AbortSignal): Promise<FileDigests> {
    const buffer = this.#buffer ?? this.#tools.buffers.take(this.#size);
    this.#buffer = null;
    const staged = await this.#tools.pool.stageFile(this.#stagedPath, buffer, this.#length, {
      extra,
      signal,
    });
    this.#written = true;
    this.#tools.buffers.put(staged.buffer);
    return staged.digests;
  }

  async finish(): Promise<void> {
    // It has its name already.
  }

  async keep(): Promise<void> {
    await this.discard();
  }

  async discard(): Promise<void> {
    this.#length = 0;
    this.#held = NOTHING_HELD;
    if (this.#buffer !== null) {
      this.#tools.buffers.put(this.#buffer);
      this.#buffer = null;
    }
    if (this.#written) {
      this.#written = false;
      await rm(this.#stagedPath, { force: true });
    }
  }
}
