import { type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Destination } from '../../../domain/release/destination.ts';
import { blake3Hex } from '../../../platform/hashing/blake3.ts';
import type { FileDigests, HashPool } from '../../../platform/hashing/digests.ts';
import { forEachConcurrently } from '../../../platform/process/concurrently.ts';
import { unixSeconds } from '../../../platform/process/clock.ts';
import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import { commitDownloaded } from '../../../releases/download/download-run.ts';
import type { KnownObject } from '../../../releases/records/entry-row.ts';
import type { LocalizedChannel } from '../channel.ts';
import { TaskError, type TaskContext } from '../../../engine/tasks/task.ts';
import { findPatchFile, type PatchedFile } from './patch-manifest.ts';
import { OPEN_REGULAR } from '../../../platform/files/open-regular.ts';
import { createWriteStream, open, rm } from '../../../platform/files/file-changes.ts';

const CONCURRENCY = 2;

export type Replacements = ReadonlyMap<Destination, KnownObject>;

/**
 * Copies the files of a patch manifest to the volume, compares them with the manifest and puts them into the store.
 *
 * @param staging a folder on the volume
 * @throws TaskError `patch_file_mismatch`; ServiceError `invalid_path`, `file_not_found`; the storage error
 */
export async function stagePatches(
  channel: LocalizedChannel,
  entries: readonly PatchedFile[],
  staging: string,
  context: TaskContext,
): Promise<Replacements> {
  const root = channel.patchRoot();
  await requireRoom(channel.writer, entries);
  const replaced = new Map<Destination, KnownObject>();
  await forEachConcurrently(entries, CONCURRENCY, context.signal, async (entry, signal) => {
    const stagedPath = join(staging, blake3Hex(Buffer.from(entry.destination)));
    await copyPatch(root, entry, stagedPath, signal);
    const digests = await hashFile(channel.pool, stagedPath, signal);
    requireMatch(entry, digests);
    replaced.set(entry.destination, await storeObject(channel, stagedPath, digests, context));
    context.progress(replaced.size, entries.length, 'entries', 'store');
  });
  return replaced;
}

/** Compares the files of a patch manifest with it, and changes nothing. @throws as {@link stagePatches} */
export async function checkPatches(
  pool: HashPool,
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

/** Moves a staged file into the store and records its facts. @param digests of exactly its bytes */
export async function storeObject(
  channel: LocalizedChannel,
  stagedPath: string,
  digests: FileDigests,
  context: TaskContext,
): Promise<KnownObject> {
  const object = await commitDownloaded(channel, stagedPath, digests, context.taskId);
  channel.objects.record(object, unixSeconds(channel.clock));
  return object;
}

export async function hashFile(pool: HashPool, path: string, signal: AbortSignal): Promise<FileDigests> {
  const file = await open(path, OPEN_REGULAR);
  try {
    return await hashOpen(pool, file, signal);
  } finally {
    await file.close();
  }
}

async function hashOpen(pool: HashPool, { fd }: FileHandle, signal: AbortSignal): Promise<FileDigests> {
  return await pool.hashFile(fd, { blocks: true, extra: [] }, signal);
}

/** Opens a patched file for as long as it is used. Its size is compared first: a file of another size can take hours to read. */
async function withPatch<T>(
  root: string,
  entry: PatchedFile,
  use: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const file = await open(await findPatchFile(root, entry.file), OPEN_REGULAR);
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

async function requireRoom(writer: SnapshotWriter, entries: readonly PatchedFile[]): Promise<void> {
  const bytes = entries.reduce((sum, { size }) => sum + size, 0);
  const free = await writer.freeBytes();
  if (bytes <= free) return;
  throw new TaskError(
    'no_space',
    `the patched files have ${bytes} bytes, and the snapshot volume has ${free} free; run release-cleanup or enlarge the volume`,
  );
}
