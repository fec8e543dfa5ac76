import { createWriteStream } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Destination } from '../../../domain/release/destination.ts';
import { blake3Hex } from '../../../platform/hashing/blake3.ts';
import type { FileDigests, HashPool } from '../../../platform/hashing/digests.ts';
import { forEachConcurrently } from '../../../platform/process/concurrently.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { Failpoints } from '../../../platform/files/failpoints.ts';
import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import { commitDownloaded } from '../../releases/download/download-run.ts';
import type { KnownObject } from '../../releases/records/entry-row.ts';
import type { ObjectRegistry } from '../../releases/records/object-registry.ts';
import { TaskError, type TaskContext } from '../../tasks/task.ts';
import { findPatchFile, type PatchedFile } from './patch-manifest.ts';
import { OPEN_REGULAR } from '../../../platform/files/open-regular.ts';

/** Files copied and hashed at the same time. */
const CONCURRENCY = 2;

export interface StageDependencies {
  readonly objects: ObjectRegistry;
  readonly writer: SnapshotWriter;
  readonly pool: HashPool;
  readonly clock: Clock;
  readonly failpoints: Failpoints;
}

/** The files of a patch manifest. */
export interface GivenPatches {
  /** The folder of patches. */
  readonly root: string;
  readonly entries: readonly PatchedFile[];
  /** A folder on the volume. */
  readonly staging: string;
}

/** The objects that stand for the official ones, by destination. */
export type Replacements = ReadonlyMap<Destination, KnownObject>;

/**
 * Copies the files of a patch manifest to the volume, compares them with the manifest and puts them into the store.
 *
 * @throws TaskError `patch_file_mismatch`; ServiceError `invalid_path`, `file_not_found`; the storage error
 */
export async function stagePatches(
  deps: StageDependencies,
  { root, entries, staging }: GivenPatches,
  context: TaskContext,
): Promise<Replacements> {
  await requireRoom(deps.writer, entries);
  const replaced = new Map<Destination, KnownObject>();
  await forEachConcurrently(entries, CONCURRENCY, context.signal, async (entry, signal) => {
    const stagedPath = join(staging, blake3Hex(Buffer.from(entry.destination)));
    await copyPatch(root, entry, stagedPath, signal);
    const digests = await hashFile(deps.pool, stagedPath, signal);
    requireMatch(entry, digests);
    replaced.set(entry.destination, await storeObject(deps, stagedPath, digests, context));
    context.progress(replaced.size, entries.length, 'entries', 'store');
  });
  return replaced;
}

/**
 * Compares the files of a patch manifest with it, and changes nothing.
 *
 * @throws as {@link stagePatches}
 */
export async function checkPatches(
  pool: Pick<HashPool, 'hashFile'>,
  root: string,
  entries: readonly PatchedFile[],
  context: TaskContext,
): Promise<void> {
  let done = 0;
  await forEachConcurrently(entries, CONCURRENCY, context.signal, async (entry, signal) => {
    const digests = await withPatch(root, entry, async (file) => await hashOpen(pool, file, signal));
    requireMatch(entry, digests);
    done += 1;
    context.progress(done, entries.length, 'entries', 'compare');
  });
}

/**
 * Moves a staged file into the store and records its facts.
 *
 * @param digests of exactly its bytes
 */
export async function storeObject(
  deps: Omit<StageDependencies, 'pool'>,
  stagedPath: string,
  digests: FileDigests,
  context: TaskContext,
): Promise<KnownObject> {
  const object = await commitDownloaded(deps, stagedPath, digests, context.taskId);
  deps.objects.record(object, unixSeconds(deps.clock));
  return object;
}

/** Hashes a file for the store. */
export async function hashFile(pool: HashPool, path: string, signal: AbortSignal): Promise<FileDigests> {
  const file = await openRegular(path);
  try {
    return await hashOpen(pool, file, signal);
  } finally {
    await file.close();
  }
}

async function hashOpen(
  pool: Pick<HashPool, 'hashFile'>,
  { fd }: FileHandle,
  signal: AbortSignal,
): Promise<FileDigests> {
  return await pool.hashFile(fd, { blocks: true, extra: [] }, signal);
}

/** Opens a patched file for as long as it is used. Its size is compared first: a file of another size can take hours to read. */
async function withPatch<T>(
  root: string,
  entry: PatchedFile,
  use: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const file = await openRegular(await findPatchFile(root, entry.file));
  try {
    const { size } = await file.stat();
    if (size !== entry.size) throw mismatch(entry, `has ${size} bytes, not ${entry.size}`);
    return await use(file);
  } finally {
    await file.close();
  }
}

async function copyPatch(
  root: string,
  entry: PatchedFile,
  stagedPath: string,
  signal: AbortSignal,
): Promise<void> {
  await withPatch(root, entry, async (file) => {
    const { size } = entry;
    // A file of an interrupted attempt may already be read-only.
    await rm(stagedPath, { force: true });
    // The file may grow while it is read; no more than stated is copied.
    const source = file.createReadStream({ autoClose: false, ...(size === 0 ? {} : { end: size - 1 }) });
    await pipeline(source, createWriteStream(stagedPath, { flags: 'wx' }), { signal });
  });
}

/** Opens a file without following a link that took its place, and without waiting for the writer of a pipe. */
async function openRegular(path: string): Promise<FileHandle> {
  return await open(path, OPEN_REGULAR);
}

function requireMatch(entry: PatchedFile, { size, blake3 }: FileDigests): void {
  if (size !== entry.size) throw mismatch(entry, `has ${size} bytes, not ${entry.size}`);
  if (blake3 !== entry.blake3) throw mismatch(entry, `has the BLAKE3 ${blake3}, not ${entry.blake3}`);
}

function mismatch({ destination, file }: PatchedFile, why: string): TaskError {
  return new TaskError(
    'patch_file_mismatch',
    `the file "${file}" for ${JSON.stringify(destination)} ${why}; write the patch manifest again`,
    { details: { destination, file } },
  );
}

async function requireRoom(
  writer: Pick<SnapshotWriter, 'freeBytes'>,
  entries: readonly PatchedFile[],
): Promise<void> {
  const bytes = entries.reduce((sum, { size }) => sum + size, 0);
  const free = await writer.freeBytes();
  if (bytes <= free) return;
  throw new TaskError(
    'no_space',
    `the patched files have ${bytes} bytes, and the snapshot volume has ${free} free; run release-cleanup or enlarge the volume`,
  );
}
