import type { Stats } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { hasBlockList } from '../../domain/release/blocks.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { fsyncDirectory } from '../../platform/files/files.ts';
import type { ContentDigests } from '../../platform/hashing/digests.ts';
import { blockListBytes } from './block-list.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { KeyedQueue } from './keyed-queue.ts';
import { blockListPath, objectDirectory, objectPath, quarantineDirectory } from '../volume/layout.ts';
import { fileState } from './object-state.ts';
import { makeRealDirectory } from '../volume/store-directories.ts';
import type { StoreRoot } from '../volume/store-root.ts';
import type { WriteSteps } from '../volume/write-steps.ts';
import { OPEN_REGULAR } from '../../platform/files/open-regular.ts';
import { chmod, open, rename, rm } from '../../platform/files/file-changes.ts';

export interface StagedObject {
  readonly stagedPath: string;
  readonly digests: ContentDigests;
}

/** Objects are never changed in place, so nobody gets to write to them. */
const OBJECT_MODE = 0o444;

const PERMISSION_BITS = 0o777;

/** How many directories are made durable at the same time. */
const FLUSH_CONCURRENCY = 4;

/** Moves staged files into `objects/`, and damaged ones out of it. */
export class ObjectCommitter {
  readonly #volume: StoreRoot;
  readonly #steps: WriteSteps;
  readonly #queue = new KeyedQueue();
  readonly #touched = new Set<string>();
  readonly #made = new Set<string>();

  constructor(volume: StoreRoot, steps: WriteSteps) {
    this.#volume = volume;
    this.#steps = steps;
  }

  get #root(): string {
    return this.#volume.folder;
  }

  async commit({ stagedPath, digests }: StagedObject): Promise<void> {
    await this.#queue.run(digests.blake3, async () => {
      const target = objectPath(this.#root, digests.blake3);
      const state = await fileState(target, digests.size);
      const mode = state === 'ok' ? OBJECT_MODE : await this.#makeDurable(stagedPath, digests.size);
      await this.#makeDirectory(objectDirectory(this.#root, digests.blake3));
      if (state === 'wrong') await this.#quarantine(digests.blake3, basename(dirname(stagedPath)));
      if (hasBlockList(digests.size)) await this.#commitBlockList(stagedPath, digests);
      if (state === 'ok') {
        await rm(stagedPath, { force: true });
      } else {
        await rename(stagedPath, target);
        // Not before: a staged file that outlives a crash has to stay writable for the attempt that continues it.
        if (mode !== OBJECT_MODE) await chmod(target, OBJECT_MODE);
        this.#steps.passed('snapshot.object.renamed');
      }
      // Also if it already existed: a crash may have happened between its rename and the sync of the directory.
      this.#touched.add(objectDirectory(this.#root, digests.blake3));
    });
  }

  async restoreBlockList({ stagedPath, digests }: StagedObject): Promise<boolean> {
    return await this.#queue.run(digests.blake3, async () => {
      // Without this, a link in place of the directory would lead out of the store.
      await this.#makeDirectory(objectDirectory(this.#root, digests.blake3));
      if ((await fileState(objectPath(this.#root, digests.blake3), digests.size)) !== 'ok') return false;
      if (hasBlockList(digests.size)) await this.#commitBlockList(stagedPath, digests);
      this.#touched.add(objectDirectory(this.#root, digests.blake3));
      return true;
    });
  }

  async quarantine(blake3: Blake3Hex, taskId: string): Promise<boolean> {
    return await this.#queue.run(blake3, async () => await this.#quarantine(blake3, taskId));
  }

  async flush(): Promise<void> {
    // One at a time: a second caller must not return while the first still syncs what both wait for.
    await this.#queue.run('flush', async () => await this.#flush());
  }

  async #flush(): Promise<void> {
    const pending = [...this.#touched];
    const next = async (): Promise<void> => {
      for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
        // Removed first: a file that is renamed into it during the sync needs another sync.
        this.#touched.delete(directory);
        try {
          await fsyncDirectory(directory);
        } catch (error) {
          // The directory was lost with its files, so there are no names left to make durable.
          if (isNotThere(error)) continue;
          this.#touched.add(directory);
          throw error;
        }
        this.#steps.passed('snapshot.flush.directory');
      }
    };
    await Promise.all(Array.from({ length: FLUSH_CONCURRENCY }, next));
  }

  /** Checks a staged file and makes its bytes durable; returns its permission bits. */
  async #makeDurable(stagedPath: string, size: number): Promise<number> {
    const file = await open(stagedPath, OPEN_REGULAR);
    try {
      const stats = await file.stat();
      checkStaged(stagedPath, stats, size);
      this.#steps.passed('snapshot.object.checked');
      await file.sync();
      this.#steps.passed('snapshot.object.synced');
      return stats.mode & PERMISSION_BITS;
    } finally {
      await file.close();
    }
  }

  async #commitBlockList(stagedPath: string, digests: StagedObject['digests']): Promise<void> {
    const { blake3, size, blocks } = digests;
    if (blocks?.length !== blockListBytes(size)) {
      throw new RangeError(`an object of ${size} bytes needs a block list of ${blockListBytes(size)} bytes`);
    }
    const target = blockListPath(this.#root, blake3);
    const state = await fileState(target, blocks.length);
    if (state === 'ok' && (await readFile(target)).equals(blocks)) return;
    if (state === 'wrong') await rm(target, { recursive: true });
    const staged = `${stagedPath}.blocks`;
    // A previous attempt may have left a read-only file under this name.
    await rm(staged, { force: true });
    const file = await open(staged, 'wx', OBJECT_MODE);
    try {
      await file.writeFile(blocks);
      this.#steps.passed('snapshot.blocks.written');
      await file.chmod(OBJECT_MODE);
      await file.sync();
    } finally {
      await file.close();
    }
    this.#steps.passed('snapshot.blocks.synced');
    await rename(staged, target);
    this.#steps.passed('snapshot.blocks.renamed');
  }

  async #quarantine(blake3: Blake3Hex, taskId: string): Promise<boolean> {
    const directory = objectDirectory(this.#root, blake3);
    const aside = join(quarantineDirectory(this.#root), `${blake3}.${taskId}`);
    const moved = await renameIfThere(objectPath(this.#root, blake3), aside);
    const movedList = await renameIfThere(blockListPath(this.#root, blake3), `${aside}.blocks`);
    // Only people read the quarantine, so a power failure may empty it.
    if (moved || movedList) this.#touched.add(directory);
    return moved;
  }

  async #makeDirectory(directory: string): Promise<void> {
    // Each time: the directory may have been lost since the last commit.
    const isNew = await makeRealDirectory(this.#root, directory);
    if (!isNew && this.#made.has(directory)) return;
    this.#made.add(directory);
    // Whether or not it is new: a crash may have come before the name was durable.
    this.#touched.add(dirname(directory));
  }
}

function checkStaged(stagedPath: string, stats: Stats, size: number): void {
  if (!stats.isFile()) throw new Error(`the staged object is not a regular file: ${stagedPath}`);
  if (stats.size !== size) {
    throw new Error(`the staged object has ${stats.size} bytes, but ${size} were hashed: ${stagedPath}`);
  }
}

async function renameIfThere(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (isNotThere(error)) return false;
    throw error;
  }
}

function isNotThere(error: unknown): boolean {
  // The second one: a file has the place of the directory.
  return errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR';
}
