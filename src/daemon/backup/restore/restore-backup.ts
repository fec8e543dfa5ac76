import { constants, lstatSync } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { messageOf } from '../../../platform/errors.ts';
import type { Failpoints } from '../../../platform/files/failpoints.ts';
import { fsyncDirectory, fsyncDirectorySync } from '../../../platform/files/files.ts';
import { acquireDataLock } from '../../../engine/database/data-lock.ts';
import { backupNames } from '../backup-list.ts';
import { type BackupCopy, type BackupManifest, readManifest } from '../backup-manifest.ts';
import { syncAndDigest } from '../copy-database.ts';
import type { CopyStore } from '../copy-worker.ts';
import type { HashPool } from '../../../platform/hashing/digests.ts';
import type { CallerOf } from '../../../platform/threads/caller.ts';
import type { RestoreOptions } from './restore-options.ts';
import { copyFile, linkSync, renameSync, rm } from '../../../platform/files/file-changes.ts';
import { keepAside } from '../../../engine/database/keep-aside.ts';
import { wasThereBefore } from '../../../engine/database/work-file.ts';

/** A restore that is refused; the message says why and what to do. */
class RestoreError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RestoreError';
  }
}

/** The places between the steps of a restore. */
export const RESTORE_FAILPOINTS = ['restore:staged', 'restore:placed'] as const;

interface RestoreTools {
  readonly pool: HashPool;
  readonly thread: CallerOf<CopyStore>;
  readonly now: Date;
  readonly failpoints: Failpoints;
  readonly signal: AbortSignal;
}

/** One database that was restored. */
interface RestoredDatabase extends BackupCopy {
  /** Where the file is that was there before, or `null`. */
  readonly keptAt: string | null;
}

/** The header of an SQLite file, its first bytes that are always the same, and the place of the application id. */
const [HEADER_BYTES, MAGIC_BYTES, APPLICATION_ID_AT] = [100, 16, 68];

/** The result of a restore. */
export interface Restored {
  readonly restored: readonly RestoredDatabase[];
  /** Names of the sound databases that were left as they are. */
  readonly left: readonly string[];
  /** Names of the databases that nobody had used yet when the backup was made. */
  readonly neverUsed: readonly string[];
  /** Those of them that were used later and are lost now. */
  readonly lost: readonly string[];
}

/**
 * Puts the databases of a backup into a data folder. All copies are checked and staged before the first one is put in
 * place. A restore that a crash ended can be run again. A sound database is replaced only when it is named or all are wanted:
 * the copy lacks the changes since the backup.
 *
 * @throws RestoreError; DataLockHeldError while a daemon has the folder; the file system error; the signal's reason
 */
export async function restoreBackup(
  { from, data, databases, all }: RestoreOptions,
  tools: RestoreTools,
): Promise<Restored> {
  const manifest = await manifestOf(from);
  const copies = chooseCopies(manifest, databases, from);
  await requireDataFolder(data);
  const lock = acquireDataLock(data, tools.now);
  const staged: Array<{ readonly copy: BackupCopy; readonly path: string }> = [];
  const left: string[] = [];
  try {
    await checkCopies(from, copies, tools);
    for (const copy of copies) {
      const isWanted = all || databases.length > 0 || !(await isSound(data, from, copy, tools));
      if (isWanted) staged.push({ copy, path: join(data, `.${copy.file}.restore`) });
      else left.push(copy.name);
    }
    for (const { copy, path } of staged) await stage(join(from, copy.file), path, copy, tools);
    tools.failpoints.hit('restore:staged');
    const restored: RestoredDatabase[] = [];
    for (const { copy, path } of staged) {
      restored.push({ ...copy, keptAt: putInPlace(join(data, copy.file), path, tools.now) });
      tools.failpoints.hit('restore:placed');
    }
    await fsyncDirectory(data);
    const neverUsed = databases.length === 0 ? manifest.missing : [];
    const lost = neverUsed.filter((name) => wasThereBefore(join(data, `${name}.db`)));
    return { restored, left, neverUsed: neverUsed.filter((name) => !lost.includes(name)), lost };
  } finally {
    for (const { path } of staged) await rm(path, { force: true });
    lock.release();
  }
}

async function manifestOf(from: string): Promise<BackupManifest> {
  const manifest = await readManifest(from);
  if (manifest.ok) return manifest.value;
  const [newest] = await backupNames(from).catch(() => []);
  const hint =
    newest === undefined ? '' : `; ${from} holds backups: name one of them, the newest is ${newest}`;
  throw new RestoreError(`${from} is not a usable backup: ${manifest.error}${hint}`);
}

function chooseCopies(
  { databases: copies, missing }: BackupManifest,
  wanted: readonly string[],
  from: string,
): readonly BackupCopy[] {
  const unknown = wanted.filter((name) => !copies.some((copy) => copy.name === name));
  if (unknown.length > 0) {
    const known = copies.map(({ name }) => name).join(', ');
    const neverUsed = missing.filter((name) => unknown.includes(name)).join(', ');
    const reason = neverUsed === '' ? '' : `; when it was made, nobody had used ${neverUsed} yet`;
    throw new RestoreError(`${from} has no copy of ${unknown.join(', ')}${reason}; it has: ${known}`);
  }
  return wanted.length === 0 ? copies : copies.filter(({ name }) => wanted.includes(name));
}

/** A database, its marker, its log, and what an earlier restore has left; the lock, the id and the backups of a daemon. */
const OF_DAEMON = /^backups$|^daemon\.(?:lock|pid|id)|\.db(?:[.-]|$)/;

/** A folder beside the right one would take the copies, and nobody would read them. */
async function requireDataFolder(data: string): Promise<void> {
  const names = await readdir(data).catch(() => null);
  if (names === null) {
    throw new RestoreError(
      `the data folder ${data} does not exist; name data.dir of the daemon, or create it`,
    );
  }
  // A new volume has this folder.
  const found = names.filter((name) => name !== 'lost+found');
  if (found.length > 0 && !found.some((name) => OF_DAEMON.test(name))) {
    throw new RestoreError(
      `${data} has files, but no database of a daemon; name data.dir of the daemon, which slipway-daemon --print-config shows, or an empty folder; nothing was changed`,
    );
  }
}

/** Names every damaged copy, not only the first one. */
async function checkCopies(from: string, copies: readonly BackupCopy[], tools: RestoreTools): Promise<void> {
  const problems: string[] = [];
  for (const copy of copies) {
    try {
      if (!(await hasDigest(join(from, copy.file), copy, tools))) {
        problems.push(`${copy.file} is not what the manifest describes`);
      }
    } catch (error) {
      tools.signal.throwIfAborted();
      problems.push(`${copy.file} cannot be read: ${messageOf(error)}`);
    }
  }
  if (problems.length === 0) return;
  throw new RestoreError(
    `${from} is damaged: ${problems.join('; ')}; nothing was changed; use an older backup, or --database for the sound ones`,
  );
}

/** Whether the data folder has this database already: with the content that the copy is of, and an undamaged structure. */
async function isSound(
  data: string,
  from: string,
  { file }: BackupCopy,
  { thread, signal }: RestoreTools,
): Promise<boolean> {
  const path = join(data, file);
  try {
    // SQLite takes an empty file for a sound database.
    if (!(await contentId(path)).equals(await contentId(join(from, file)))) return false;
    return (await thread.check(path, { signal })) === null;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

/** The bytes that tell whose database a file is. Source: sqlite.org/fileformat.html, "The Database Header". */
async function contentId(path: string): Promise<Buffer> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    const { bytesRead } = await handle.read(header, 0, HEADER_BYTES, 0);
    if (bytesRead < HEADER_BYTES) throw new RestoreError(`${path} is not a database`);
    return Buffer.concat([
      header.subarray(0, MAGIC_BYTES),
      header.subarray(APPLICATION_ID_AT, APPLICATION_ID_AT + 4),
    ]);
  } finally {
    await handle.close();
  }
}

async function hasDigest(
  path: string,
  { bytes, blake3 }: BackupCopy,
  { pool, signal }: RestoreTools,
): Promise<boolean> {
  // Without O_NONBLOCK a named pipe would hang the open.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size !== bytes) return false;
    return (await pool.hashContent(handle.fd, { blocks: false, fromDisk: false }, signal)).blake3 === blake3;
  } finally {
    await handle.close();
  }
}

/** Copies a file into the data folder, and checks what arrived there. */
async function stage(source: string, target: string, copy: BackupCopy, tools: RestoreTools): Promise<void> {
  await rm(target, { force: true });
  await copyFile(source, target, constants.COPYFILE_EXCL);
  const { bytes, blake3 } = await syncAndDigest(target, tools.pool, tools.signal);
  if (bytes !== copy.bytes || blake3 !== copy.blake3) {
    throw new RestoreError(
      `${basename(source)} was not copied correctly; nothing was changed; check both disks`,
    );
  }
  const finding = await tools.thread.check(target, { signal: tools.signal });
  if (finding !== null) {
    throw new RestoreError(
      `${source} is a damaged database (${finding}); nothing was changed; use an older backup`,
    );
  }
}

/** The files that SQLite has beside a database. One of another database would damage the copy. */
const COMPANIONS = ['-wal', '-shm', '-journal'];

/**
 * Puts a file in the place of a database, and keeps all files that were there. At every instant one of the two files has
 * the name, because a daemon that finds none would begin with an empty database.
 *
 * @param staged the new file, in the same folder
 * @param now for the new name of the old files
 * @returns where the old file is now, or `null` when there was none
 * @throws the file system error
 */
function putInPlace(path: string, staged: string, now: Date): string | null {
  // Nothing is ever removed: this is the work of people, and the log may hold some of it.
  const keptAt = keepAside(path, now, COMPANIONS, Infinity);
  const old = lstatSync(path, { throwIfNoEntry: false });
  if (old !== undefined) {
    if (old.isFile()) keepFile(path, keptAt);
    else renameSync(path, keptAt);
  }
  // Before the name of the old file goes to the new one: the changes may reach the disk in another order, and an old log beside
  // the new file would damage it.
  fsyncDirectorySync(dirname(path));
  renameSync(staged, path);
  return old === undefined ? null : keptAt;
}

function keepFile(path: string, keptAt: string): void {
  try {
    linkSync(path, keptAt);
  } catch {
    // Some file systems have no hard links.
    renameSync(path, keptAt);
  }
}
