import { lstatSync } from 'node:fs';
import { keepAside } from '../../../engine/database/keep-aside.ts';
import { fsyncDirectorySync } from '../../../platform/files/files.ts';
import { linkSync, renameSync } from '../../../platform/files/file-changes.ts';
import { dirname } from 'node:path';

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
export function putInPlace(path: string, staged: string, now: Date): string | null {
  // Nothing is ever removed: this is the work of people, and the log may hold some of it.
  const keptAt = keepAside(path, now, COMPANIONS, Infinity);
  const old = lstatSync(path, { throwIfNoEntry: false });
  if (old !== undefined) {
    if (old.isFile()) keepFile(path, keptAt);
    else renameSync(path, keptAt);
    // Before the name of the old file goes to the new one: the two changes may reach the disk in another order.
    fsyncDirectorySync(dirname(path));
  }
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
