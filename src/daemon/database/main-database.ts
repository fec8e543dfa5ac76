import { DatabaseDamagedError } from './database-error.ts';
import { openDatabase } from './database.ts';
import { keepAside, keepIrregularAside } from './keep-aside.ts';
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

/**
 * Opens the main database. A damaged one is kept aside and an empty one takes its place, because all that it holds can be
 * found again: releases on the snapshot volume, catalogs upstream, schedules in the configuration.
 *
 * @param now for the name of the damaged file
 * @throws DatabaseError for a file that is not damaged and yet cannot be used
 */
export function openMainDatabase(path: string, now: Date): MainDatabase {
  const irregular = keepIrregularAside(path, now, SUFFIXES);
  if (irregular !== null) {
    return { database: openDatabase(path), rebuilt: { keptAt: irregular, finding: 'not a regular file' } };
  }
  try {
    return { database: openDatabase(path), rebuilt: null };
  } catch (error) {
    if (!(error instanceof DatabaseDamagedError)) throw error;
    const keptAt = keepAside(path, now, SUFFIXES);
    return { database: openDatabase(path), rebuilt: { keptAt, finding: error.finding } };
  }
}
