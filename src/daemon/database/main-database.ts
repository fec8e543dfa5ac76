import { readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errorCode } from '../../platform/files/error-code.ts';
import { DatabaseDamagedError } from './database-error.ts';
import { openDatabase } from './database.ts';
import type { Database } from './sqlite-database.ts';

/** The main database, and what happened to the file that was there before. */
export interface MainDatabase {
  readonly database: Database;
  /** `null` when the file was sound or missing. */
  readonly rebuilt: RebuiltDatabase | null;
}

/** A database that replaces a damaged one. */
export interface RebuiltDatabase {
  /** The path of the damaged file. */
  readonly keptAt: string;
  readonly finding: string;
}

/** The files of one SQLite database. SQLite itself merges or removes a log that it can read or must not use. */
const SUFFIXES = ['', '-wal', '-shm'];
/** Damaged databases that are kept for diagnosis; the oldest are removed. */
const KEPT = 3;

/**
 * Opens the main database. A damaged one is kept aside and an empty one takes its place, because all that it holds can be
 * found again: releases on the snapshot volume, catalogs upstream, schedules in the configuration.
 *
 * @param now for the name of the damaged file
 * @throws DatabaseError for a file that is not damaged and yet cannot be used
 */
export function openMainDatabase(path: string, now: Date): MainDatabase {
  try {
    return { database: openDatabase(path), rebuilt: null };
  } catch (error) {
    if (!(error instanceof DatabaseDamagedError)) throw error;
    const keptAt = keepAside(path, now);
    return { database: openDatabase(path), rebuilt: { keptAt, finding: error.finding } };
  }
}

function keepAside(path: string, now: Date): string {
  const prefix = `${path}.damaged-`;
  const keptAt = `${prefix}${now.toISOString().replaceAll(':', '-')}`;
  for (const suffix of SUFFIXES) {
    try {
      renameSync(`${path}${suffix}`, `${keptAt}${suffix}`);
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
    }
  }
  const kept = readdirSync(dirname(path))
    .filter((name) => name.startsWith(basename(prefix)) && !/-(?:wal|shm)$/.test(name))
    .sort();
  for (const name of kept.slice(0, -KEPT)) {
    for (const suffix of SUFFIXES) rmSync(join(dirname(path), `${name}${suffix}`), { force: true });
  }
  return keptAt;
}
