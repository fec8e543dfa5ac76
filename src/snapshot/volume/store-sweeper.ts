import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isBlake3Hex, type Blake3Hex } from '../../domain/release/digest.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { quarantineDirectory } from './layout.ts';
import { messageOf } from '../../platform/errors.ts';
import { rm } from '../../platform/files/file-changes.ts';
import { fsyncDirectory } from '../../platform/files/files.ts';

export interface SweepResult {
  /** Objects, or manifests; a block list is not counted beside its object. */
  readonly removed: number;
  readonly bytes: number;
  readonly failures: {
    readonly count: number;
    /** The first few, each one sentence with the path and the error. */
    readonly examples: readonly string[];
  };
}

/** The rules of a sweep. */
export interface SweepOptions {
  readonly isLive: (blake3: Blake3Hex) => boolean;
  /** Unix milliseconds; files written or moved into place at or after this are kept. */
  readonly before: number;
  readonly signal?: AbortSignal | undefined;
}

export interface QuarantineLimits {
  readonly objects: number;
  readonly bytes: number;
  /** Unix milliseconds; older files are removed. */
  readonly before: number;
}

const FAILURE_EXAMPLES = 20;
const BLOCKS_SUFFIX = '.blocks';
const MANIFEST_SUFFIX = '.ndjson';

/**
 * Removes objects that are not live and old enough, one directory at a time, and skips those that it cannot remove. An
 * object goes before its block list: an object without one would look damaged. After a power failure some may be there again.
 *
 * @throws the signal's reason; the error of listing `objects` itself
 */
export async function sweepObjects(root: string, options: SweepOptions): Promise<SweepResult> {
  const tally = new Tally();
  for (const shard of (await readdir(join(root, 'objects'))).sort()) {
    if (!/^[0-9a-f]{2}$/.test(shard)) continue;
    const directory = join(root, 'objects', shard);
    const names = await tally.attempt(directory, async () => await readdir(directory));
    if (names === null) continue;
    await sweepDirectory(directory, names.sort(), options, tally, (name) => {
      const object = name.endsWith(BLOCKS_SUFFIX) ? name.slice(0, -BLOCKS_SUFFIX.length) : name;
      return `${shard}${object}`;
    });
  }
  return tally.result();
}

/** Removes manifests that are not live and old enough, as {@link sweepObjects} does. */
export async function sweepManifests(root: string, options: SweepOptions): Promise<SweepResult> {
  const tally = new Tally();
  const directory = join(root, 'manifests');
  const names = await readdir(directory);
  await sweepDirectory(directory, names.sort(), options, tally, (name) =>
    name.endsWith(MANIFEST_SUFFIX) ? name.slice(0, -MANIFEST_SUFFIX.length) : '',
  );
  return tally.result();
}

/**
 * Removes the files beyond the limits from the quarantine, which only people read.
 *
 * @throws the signal's reason; the error of listing the folder itself
 */
export async function sweepQuarantine(
  root: string,
  limits: QuarantineLimits,
  signal?: AbortSignal,
): Promise<SweepResult> {
  const tally = new Tally();
  const directory = quarantineDirectory(root);
  const found: Array<{ readonly path: string; readonly size: number; readonly at: number }> = [];
  for (const name of await readdir(directory)) {
    signal?.throwIfAborted();
    const path = join(directory, name);
    const stats = await tally.attempt(path, async () => await lstat(path));
    // The rename into the folder set the ctime.
    if (stats !== null) found.push({ path, size: stats.size, at: stats.ctimeMs });
  }
  found.sort((left, right) => right.at - left.at || (left.path < right.path ? -1 : 1));
  let [objects, bytes] = [0, 0];
  for (const { path, size, at } of found) {
    signal?.throwIfAborted();
    const isObject = !path.endsWith(BLOCKS_SUFFIX);
    objects += isObject ? 1 : 0;
    bytes += size;
    if (objects <= limits.objects && bytes <= limits.bytes && at >= limits.before) continue;
    const removed = await tally.attempt(path, async () => {
      await rm(path, { recursive: true });
      return true;
    });
    if (removed !== null) tally.add(size, isObject);
  }
  return tally.result();
}

async function sweepDirectory(
  directory: string,
  names: readonly string[],
  { isLive, before, signal }: SweepOptions,
  tally: Tally,
  digestOf: (name: string) => string,
): Promise<void> {
  let isRemoved = false;
  // Sorted, so `<name>` comes before `<name>.blocks`.
  for (const name of names) {
    signal?.throwIfAborted();
    const digest = digestOf(name);
    if (!isBlake3Hex(digest) || isLive(digest)) continue;
    const path = join(directory, name);
    const size = await tally.attempt(path, async () => await removeIfOlder(path, before));
    if (size === null) continue;
    isRemoved = true;
    tally.add(size, !name.endsWith(BLOCKS_SUFFIX));
  }
  // Before the database forgets the objects: one that was damaged could be back after a power failure, and be taken for sound.
  if (isRemoved) await tally.attempt(directory, async () => await fsyncDirectory(directory));
}

async function removeIfOlder(path: string, before: number): Promise<number | null> {
  const stats = await lstat(path);
  // A rename changes the ctime: an object that was moved into place just now is young, however old its bytes are.
  if (Math.max(stats.mtimeMs, stats.ctimeMs) >= before) return null;
  await rm(path, { recursive: true });
  return stats.size;
}

class Tally {
  #removed = 0;
  #bytes = 0;
  #failed = 0;
  readonly #examples: string[] = [];

  add(bytes: number, counts: boolean): void {
    this.#bytes += bytes;
    if (counts) this.#removed += 1;
  }

  /** Runs one step; its failure is noted and gives `null`. */
  async attempt<T>(path: string, step: () => Promise<T>): Promise<T | null> {
    try {
      return await step();
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return null;
      this.#failed += 1;
      if (this.#examples.length < FAILURE_EXAMPLES) {
        this.#examples.push(`${path}: ${messageOf(error)}`);
      }
      return null;
    }
  }

  result(): SweepResult {
    return {
      removed: this.#removed,
      bytes: this.#bytes,
      failures: { count: this.#failed, examples: this.#examples },
    };
  }
}
