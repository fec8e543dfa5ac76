import { lstatSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errorCode } from '../../platform/files/error-code.ts';
import { renameSync, rmSync } from '../../platform/files/file-changes.ts';

/** Damaged files of one name that are kept for diagnosis, unless the caller says otherwise; the oldest are removed. */
const KEPT = 3;
/** SQLite has a log and its index beside a database, and the daemon the mark of a damaged one. */
const COMPANION = /-(?:wal|shm|damaged)$/;

/**
 * Renames something damaged, whatever it is, so that a sound file can take its place.
 *
 * @param now for the new name
 * @param suffixes names the files that belong together; the empty one is the file itself
 * @param count most damaged files of this name that stay
 * @returns the new path
 * @throws the file system error
 */
export function keepAside(
  path: string,
  now: Date,
  suffixes: readonly string[] = [''],
  count: number = KEPT,
): string {
  const prefix = `${path}.damaged-`;
  const keptAt = `${prefix}${now.toISOString().replaceAll(':', '-')}`;
  for (const suffix of suffixes) {
    try {
      renameSync(`${path}${suffix}`, `${keptAt}${suffix}`);
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
    }
  }
  const kept = readdirSync(dirname(path))
    .filter((name) => name.startsWith(basename(prefix)) && !COMPANION.test(name))
    .sort();
  for (const name of kept.slice(0, -count)) {
    for (const suffix of suffixes) {
      rmSync(join(dirname(path), `${name}${suffix}`), { force: true, recursive: true });
    }
  }
  return keptAt;
}

/**
 * Renames what has the name of a file but is none, such as a directory or a named pipe: opening the pipe would wait for
 * a writer without end. A link to a file is one.
 *
 * @returns the new path, or `null` when there is a file or nothing
 * @throws the file system error
 */
export function keepIrregularAside(
  path: string,
  now: Date,
  suffixes: readonly string[] = [''],
): string | null {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null;
  // A link to nothing has a name but no target.
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  return isFile ? null : keepAside(path, now, suffixes);
}
