import { constants } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { writeChunks } from './write-chunks.ts';
import type { StagedFile } from './staged-file.ts';

/** Largest file that is gathered in memory: one open, one write, one close, and no part to look after. */
export const SMALL_FILE_BYTES = 1024 * 1024;

/**
 * A small file, gathered in memory and written once it is whole. A release has thousands of these, and each trip to the
 * file system costs as much as receiving a hundred kilobytes. Only the running call can resume it.
 */
export class SmallFile implements StagedFile {
  readonly #stagedPath: string;
  #chunks: Uint8Array[] = [];
  #length = 0;
  #validator: string | null = null;
  #handle: FileHandle | null = null;

  constructor(stagedPath: string) {
    this.#stagedPath = stagedPath;
  }

  get length(): number {
    return this.#length;
  }

  get validator(): string | null {
    return this.#validator;
  }

  async begin(validator: string | null): Promise<void> {
    this.#validator = validator;
  }

  async append(chunks: readonly Uint8Array[]): Promise<void> {
    for (const chunk of chunks) {
      this.#chunks.push(chunk);
      this.#length += chunk.length;
    }
  }

  async restart(): Promise<void> {
    await this.discard();
  }

  async seal(): Promise<number> {
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
    this.#handle ??= await open(this.#stagedPath, flags, 0o600);
    await writeChunks(this.#handle, this.#chunks, 0);
    this.#chunks = [];
    return this.#handle.fd;
  }

  async finish(): Promise<void> {
    await this.#handle?.close();
    this.#handle = null;
  }

  async keep(): Promise<void> {
    await this.discard();
  }

  async discard(): Promise<void> {
    this.#chunks = [];
    this.#length = 0;
    this.#validator = null;
    const handle = this.#handle;
    if (handle === null) return;
    this.#handle = null;
    await handle.close();
    await rm(this.#stagedPath, { force: true });
  }
}
