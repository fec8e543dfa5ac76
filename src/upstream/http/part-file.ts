import { constants } from 'node:fs';
import { readFile, type FileHandle } from 'node:fs/promises';
import * as z from 'zod';
import type { ExtraDigest, FileDigests, HashPool } from '../../platform/hashing/digests.ts';
import { NOTHING_HELD, releaseChunk, type HeldBytes, type StagedFile } from './staged-file.ts';
import { statesDigest, type UpstreamEntry } from '../upstream.ts';
import { open, rename, rm, writeFile } from '../../platform/files/file-changes.ts';

/** Bodies at least this large record their validator before the first byte, so that even a kill leaves a resumable part. */
const RECORD_EARLY_BYTES = 4 * 1024 * 1024;
const SIDE_FILE_MAX_BYTES = 16 * 1024;

const sideFileSchema = z.strictObject({
  validator: z.string().min(1).max(1024).nullable(),
  locator: z.string(),
  size: z.int().min(0).nullable(),
});

export function partPathOf(stagedPath: string): string {
  return `${stagedPath}.part`;
}

/**
 * A file being received: `<staged path>.part`, and beside it `<staged path>.part.json` with the validator under which
 * its bytes were received, if any. The bytes on disk are always a prefix of the file.
 */
export class PartFile implements StagedFile {
  readonly #handle: FileHandle;
  readonly #stagedPath: string;
  readonly #entry: UpstreamEntry;
  readonly #pool: HashPool;
  #length: number;
  #held: HeldBytes;
  /** What the side file says; `null` without one. */
  #recorded: HeldBytes | null;

  private constructor(
    handle: FileHandle,
    stagedPath: string,
    entry: UpstreamEntry,
    pool: HashPool,
    earlier: { readonly length: number; readonly held: HeldBytes },
  ) {
    this.#pool = pool;
    this.#handle = handle;
    this.#stagedPath = stagedPath;
    this.#entry = entry;
    this.#length = earlier.length;
    this.#held = earlier.held;
    this.#recorded = earlier.held.isResumable ? earlier.held : null;
  }

  /**
   * Opens the part of a staged file, with what an earlier process left of it where that can be trusted: the side file
   * names the same locator and size, and the entry states a digest that will tell if the bytes are not what they were
   * (after a power failure they may not be).
   *
   * @throws the file system error, `code` kept
   */
  static async open(stagedPath: string, entry: UpstreamEntry, pool: HashPool): Promise<PartFile> {
    const path = partPathOf(stagedPath);
    const flags = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_CREAT;
    try {
      const handle = await open(path, flags | constants.O_EXCL, 0o600);
      return new PartFile(handle, stagedPath, entry, pool, { length: 0, held: NOTHING_HELD });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const handle = await open(path, flags, 0o600);
    try {
      const held = await readHeld(`${path}.json`, entry);
      const { size } = await handle.stat();
      if (held.isResumable && (entry.size === null || size <= entry.size)) {
        return new PartFile(handle, stagedPath, entry, pool, { length: size, held });
      }
      await handle.truncate(0);
      await rm(`${path}.json`, { force: true });
      return new PartFile(handle, stagedPath, entry, pool, { length: 0, held: NOTHING_HELD });
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  get length(): number {
    return this.#length;
  }

  get held(): HeldBytes {
    return this.#held;
  }

  async begin(held: HeldBytes, expectedBytes: number | null): Promise<void> {
    this.#held = held;
    if (expectedBytes === null || expectedBytes >= RECORD_EARLY_BYTES) await this.record();
  }

  async append(chunks: readonly Uint8Array[]): Promise<void> {
    this.#length += await writeChunks(this.#handle, chunks, this.#length);
    for (const chunk of chunks) releaseChunk(chunk);
  }

  async restart(): Promise<void> {
    await this.#handle.truncate(0);
    this.#length = 0;
    this.#held = NOTHING_HELD;
    if (this.#recorded !== null) {
      await rm(`${partPathOf(this.#stagedPath)}.json`, { force: true });
      this.#recorded = null;
    }
  }

  /** Writes the side file where the part can be resumed. */
  async record(): Promise<void> {
    const { validator, isResumable } = this.#held;
    if (!isResumable || !statesDigest(this.#entry)) return;
    if (this.#recorded !== null && this.#recorded.validator === validator) return;
    const { locator, size } = this.#entry;
    await writeFile(`${partPathOf(this.#stagedPath)}.json`, JSON.stringify({ validator, locator, size }), {
      mode: 0o600,
    });
    this.#recorded = this.#held;
  }

  async hash(extra: readonly ExtraDigest[], signal: AbortSignal): Promise<FileDigests> {
    return await this.#pool.hashFile(this.#handle.fd, { blocks: true, extra }, signal);
  }

  async finish(): Promise<void> {
    await this.#handle.close();
    await rename(partPathOf(this.#stagedPath), this.#stagedPath);
    if (this.#recorded !== null) await rm(`${partPathOf(this.#stagedPath)}.json`, { force: true });
  }

  async keep(): Promise<void> {
    try {
      if (this.#length > 0) await this.record();
    } finally {
      await this.#handle.close();
    }
  }

  async discard(): Promise<void> {
    await this.#handle.close();
    await rm(partPathOf(this.#stagedPath), { force: true });
    await rm(`${partPathOf(this.#stagedPath)}.json`, { force: true });
  }
}

async function readHeld(path: string, entry: UpstreamEntry): Promise<HeldBytes> {
  if (!statesDigest(entry)) return NOTHING_HELD;
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return NOTHING_HELD;
    throw error;
  }
  if (text.length > SIDE_FILE_MAX_BYTES) return NOTHING_HELD;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return NOTHING_HELD; // torn by a crash: begin again
  }
  const parsed = sideFileSchema.safeParse(value);
  if (!parsed.success) return NOTHING_HELD;
  const { validator, locator, size } = parsed.data;
  const isSame = locator === entry.locator && size === entry.size;
  return isSame ? { validator, isResumable: true } : NOTHING_HELD;
}

/**
 * Writes chunks one behind the other, however many calls the system needs for it.
 *
 * @param position where the first byte goes
 * @returns bytes written
 * @throws the file system error, `code` kept
 */
async function writeChunks(
  handle: FileHandle,
  chunks: readonly Uint8Array[],
  position: number,
): Promise<number> {
  let rest = chunks;
  let written = 0;
  while (rest.length > 0) {
    const { bytesWritten } = await handle.writev(rest, position + written);
    written += bytesWritten;
    rest = dropBytes(rest, bytesWritten);
  }
  return written;
}

function dropBytes(chunks: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  let left = count;
  for (const [index, chunk] of chunks.entries()) {
    if (left < chunk.length) return [chunk.subarray(left), ...chunks.slice(index + 1)];
    left -= chunk.length;
  }
  return [];
}
