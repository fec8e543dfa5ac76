import { statfs } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Failpoints } from '../../platform/files/failpoints.ts';
import { fsyncDirectory, writeFileDurably } from '../../platform/files/files.ts';
import { makePrivateFolder } from '../../platform/files/private-files.ts';
import { messageOf } from '../../platform/errors.ts';
import { type Clock, unixSeconds } from '../../platform/process/clock.ts';
import type { TaskContext } from '../../engine/tasks/task.ts';
import { isNoSpace, noSpaceError } from './backup-error.ts';
import {
  type StoredBackup,
  backupNames,
  listBackups,
  newBackupName,
  partialName,
  removeBackup,
  removePartial,
} from './backup-list.ts';
import { type BackupCopy, MANIFEST_FILE, MAX_REASON, renderManifest } from './backup-manifest.ts';
import {
  type BackupSources,
  type FailedDatabase,
  type NamedDatabase,
  findSources,
} from './backup-sources.ts';
import { type CopyTools, copyDatabase } from './copy-database.ts';
import { mkdir, rename, rm } from '../../platform/files/file-changes.ts';

/** The places between the steps of a backup. */
export const BACKUP_FAILPOINTS = [
  'backup:begun',
  'backup:copied',
  'backup:described',
  'backup:renamed',
  'backup:trimmed',
] as const;

/** Bytes that a backup leaves free on its volume. */
const RESERVED_BYTES = 8 * 1024 * 1024;
const FOLDER_OF_OWNER = 0o700;

export interface BackupOptions extends CopyTools {
  readonly databases: readonly NamedDatabase[];
  /** The folder of the backups; created when it is missing. */
  readonly folder: string;
  /** Newest copies of each database that stay. */
  readonly keep: number;
  readonly clock: Clock;
  readonly failpoints: Failpoints;
  /** Reads the file system; default statfs(2). */
  readonly look?: (path: string) => Promise<{ readonly bavail: number; readonly bsize: number }>;
}

/** The outcome of a backup. */
export interface WrittenBackup {
  /** Name of its folder, or `null` when no database could be copied. */
  readonly name: string | null;
  readonly copies: readonly BackupCopy[];
  /** Names of databases that nobody has used yet. */
  readonly neverUsed: readonly string[];
  readonly failed: readonly FailedDatabase[];
  /** Names of older backups that were removed. */
  readonly removed: readonly string[];
}

/**
 * Makes one backup: copies every database into a folder with a temporary name, describes it, gives it its name, and then
 * removes the oldest ones. A crash at any step leaves the older backups whole; the next backup removes what it left.
 *
 * @throws TaskError `backup_no_space`; the file system error; the signal's reason
 */
export async function writeBackup(options: BackupOptions, context: TaskContext): Promise<WrittenBackup> {
  const { folder, clock, failpoints, keep } = options;
  const sources = await findSources(options.databases);
  if (sources.found.length === 0) return { ...sources, name: null, copies: [], removed: [] };
  makePrivateFolder(folder);
  await removePartial(folder);
  await checkSpace(sources, options);
  const name = newBackupName(await backupNames(folder), clock.now());
  const partial = join(folder, partialName(name));
  let isNamed = false;
  try {
    await mkdir(partial, FOLDER_OF_OWNER);
    failpoints.hit('backup:begun');
    const { copies, failed } = await copyAll(sources, partial, options, context);
    const outcome = { copies, failed, neverUsed: sources.neverUsed };
    if (copies.length === 0) return { ...outcome, name: null, removed: [] };
    await writeFileDurably(
      join(partial, MANIFEST_FILE),
      renderManifest({
        format: 'slipway-backup/1',
        created_at: unixSeconds(clock),
        databases: [...copies],
        missing: [...sources.neverUsed],
        failed: [...failed],
      }),
    );
    failpoints.hit('backup:described');
    await context.commit(async () => {
      await fsyncDirectory(partial);
      await rename(partial, join(folder, name));
      isNamed = true;
      failpoints.hit('backup:renamed');
      await fsyncDirectory(folder);
    });
    return { ...outcome, name, removed: await trim(folder, keep, failpoints) };
  } finally {
    if (!isNamed) await rm(partial, { recursive: true, force: true });
  }
}

/** Copies the databases one after another. One that cannot be copied costs only itself; a full volume ends the backup. */
async function copyAll(
  { found, failed }: BackupSources,
  partial: string,
  options: BackupOptions,
  context: TaskContext,
): Promise<{ readonly copies: readonly BackupCopy[]; readonly failed: readonly FailedDatabase[] }> {
  const copies: BackupCopy[] = [];
  const failures = [...failed];
  for (const [index, database] of found.entries()) {
    const { name } = database;
    context.progress(index, found.length, 'entries', `copy ${name}`);
    try {
      copies.push(await copyDatabase(database, partial, options, context.signal));
      options.failpoints.hit('backup:copied');
    } catch (error) {
      if (context.signal.aborted || isNoSpace(error)) throw error;
      failures.push({ name, reason: messageOf(error).slice(0, MAX_REASON) });
      await removeCopy(join(partial, basename(database.path)));
    }
  }
  context.progress(found.length, found.length, 'entries', 'complete');
  return { copies, failed: failures };
}

async function removeCopy(path: string): Promise<void> {
  for (const suffix of ['', '-journal', '-wal', '-shm']) await rm(`${path}${suffix}`, { force: true });
}

async function checkSpace({ found }: BackupSources, { folder, look = statfs }: BackupOptions): Promise<void> {
  const needed = found.reduce((sum, { bytes }) => sum + bytes, RESERVED_BYTES);
  const { bavail, bsize } = await look(folder);
  const free = bavail * bsize;
  if (free < needed)
    throw noSpaceError(folder, `${folder} has ${free} free bytes, and a backup needs ${needed}`);
}

async function trim(folder: string, keep: number, failpoints: Failpoints): Promise<readonly string[]> {
  const backups: StoredBackup[] = [];
  for await (const backup of listBackups(folder)) backups.push(backup);
  const old = oldBackups(backups, keep);
  for (const name of old) {
    await removeBackup(folder, name);
    failpoints.hit('backup:trimmed');
  }
  return old;
}

/**
 * Chooses the backups to remove. A backup stays while it has one of the newest `keep` copies of any database, so a database
 * that can no longer be copied never loses its last good copies.
 *
 * @param backups the newest first
 * @returns the names of the others, the oldest first
 */
export function oldBackups(backups: readonly StoredBackup[], keep: number): readonly string[] {
  const copies = new Map<string, number>();
  const old = backups.filter(({ manifest }) => {
    const counts = manifest.databases.map(({ name }) => {
      const count = (copies.get(name) ?? 0) + 1;
      copies.set(name, count);
      return count;
    });
    return counts.every((count) => count > keep);
  });
  return old.map(({ name }) => name).toReversed();
}
