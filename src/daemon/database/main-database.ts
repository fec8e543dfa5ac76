import { stat } from 'node:fs/promises';
import { DatabaseDamagedError } from './database-error.ts';
import { openDatabase } from './database.ts';
import { keepAside, keepIrregularAside } from './keep-aside.ts';
import type { Database } from './sqlite-database.ts';
import { WHOLE_FILE_BYTES } from './structure-check.ts';
import { checkStructureInThread } from './structure-thread.ts';

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

/** How the main database is opened. */
export interface OpenMainOptions {
  /** For the name of a damaged file. */
  readonly now: Date;
  /** Ends the start before the file is opened. */
  readonly signal?: AbortSignal;
  /** A file of more bytes is checked in a thread of its own. */
  readonly wholeFileBytes?: number;
}

/**
 * Opens the main database. A damaged one is kept aside and an empty one takes its place, because all that it holds can be
 * found again: releases on the snapshot volume, catalogs upstream, schedules in the configuration.
 *
 * @throws DatabaseError for a file that is not damaged and yet cannot be used; the signal's reason
 */
export async function openMainDatabase(
  path: string,
  { now, signal, wholeFileBytes = WHOLE_FILE_BYTES }: OpenMainOptions,
): Promise<MainDatabase> {
  const irregular = keepIrregularAside(path, now, SUFFIXES);
  if (irregular !== null) {
    return { database: openDatabase(path), rebuilt: { keptAt: irregular, finding: 'not a regular file' } };
  }
  try {
    const isChecked = await checkLargeFile(path, wholeFileBytes);
    signal?.throwIfAborted();
    return { database: openDatabase(path, { isChecked }), rebuilt: null };
  } catch (error) {
    if (!(error instanceof DatabaseDamagedError)) throw error;
    signal?.throwIfAborted();
    const keptAt = keepAside(path, now, SUFFIXES);
    return { database: openDatabase(path), rebuilt: { keptAt, finding: error.finding } };
  }
}

/**
 * Checks a large file outside of this thread, which answers its supervisor and its API meanwhile: SQLite reads a table
 * without a break, however large it is.
 *
 * @returns whether the file was checked
 * @throws DatabaseDamagedError
 */
async function checkLargeFile(path: string, wholeFileBytes: number): Promise<boolean> {
  let finding: string | null;
  try {
    if ((await stat(path)).size <= wholeFileBytes) return false;
    finding = await checkStructureInThread(path);
  } catch {
    // There is no file yet, or the thread could not read it. Opening it gives the reason.
    return false;
  }
  if (finding !== null) throw new DatabaseDamagedError(path, finding);
  return true;
}
