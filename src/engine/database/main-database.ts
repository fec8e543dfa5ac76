import { stat } from 'node:fs/promises';
import { messageOf } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { checkLargeFile, type CheckLargeFile } from './check-large-file.ts';
import { checkRowsAtStart, createDamageAnswer, markedFinding, MARK_SUFFIX } from './damaged-main-rows.ts';
import { DatabaseDamagedError, type DamagedRowError } from './database-error.ts';
import { openDatabase } from './database.ts';
import { keepAside, keepIrregularAside } from './keep-aside.ts';
import type { Database } from './sqlite-database.ts';
import { isDatabaseDamage } from './storage-failure.ts';
import { WHOLE_FILE_BYTES } from './structure-check.ts';

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
const SUFFIXES = ['', '-wal', '-shm', MARK_SUFFIX];

/** How the main database is opened. */
export interface OpenMainOptions {
  /** The wall clock is also for the name of a damaged file. */
  readonly clock: Clock;
  readonly logger: Logger;
  /** Starts the daemon again, because only a start can replace the database. */
  readonly restart: (reason: string) => void;
  /** Ends the start before the file is opened. */
  readonly signal: AbortSignal;
  /** A file of more bytes is checked in a process of its own. */
  readonly wholeFileBytes?: number;
  readonly checkLarge?: CheckLargeFile;
}

/**
 * Opens the main database. A damaged one is kept aside, and an empty one takes its place. So is one with a damaged value in a row
 * that the daemon needs. All that it holds can be found again: releases on the snapshot volume, catalogs upstream, schedules in the
 * configuration.
 *
 * @throws DatabaseError for a file that is not damaged and yet cannot be used; the signal's reason
 */
export async function openMainDatabase(path: string, options: OpenMainOptions): Promise<MainDatabase> {
  const { clock, signal } = options;
  const now = new Date(clock.now());
  const irregular = keepIrregularAside(path, now, SUFFIXES);
  if (irregular !== null) {
    return openEmpty(path, { keptAt: irregular, finding: 'not a regular file' }, options);
  }
  try {
    const marked = markedFinding(path);
    if (marked !== null) throw new DatabaseDamagedError(path, marked);
    const isChecked = await isCheckedWhenLarge(path, options);
    signal.throwIfAborted();
    return { database: openChecked(path, isChecked, null, options), rebuilt: null };
  } catch (error) {
    if (!(error instanceof DatabaseDamagedError)) throw error;
    signal.throwIfAborted();
    const keptAt = keepAside(path, now, SUFFIXES);
    return openEmpty(path, { keptAt, finding: error.finding }, options);
  }
}

function openEmpty(path: string, rebuilt: RebuiltDatabase, options: OpenMainOptions): MainDatabase {
  return { database: openChecked(path, true, rebuilt, options), rebuilt };
}

/** @throws DatabaseDamagedError, also for a damaged value in a row that the daemon needs */
function openChecked(
  path: string,
  isChecked: boolean,
  rebuilt: RebuiltDatabase | null,
  { logger, restart }: OpenMainOptions,
): Database {
  let answer: ((error: DamagedRowError) => void) | null = null;
  const database = openDatabase(path, { isChecked, onDamagedRow: (error) => answer?.(error) });
  try {
    checkRowsAtStart(database, logger);
  } catch (error) {
    database.close();
    // The check of the structure may have ended at its limit, before it came to this page.
    if (!(error instanceof DatabaseDamagedError) && isDatabaseDamage(error)) {
      throw new DatabaseDamagedError(path, messageOf(error), error);
    }
    throw error;
  }
  answer = createDamageAnswer({ database, logger, isRebuilt: rebuilt !== null, restart });
  return database;
}

/**
 * Checks a large file outside of this process, which answers its supervisor and its API meanwhile: SQLite reads a table
 * without a break, however large it is.
 *
 * @returns whether opening it needs no check of its own: it was checked, or that took too long
 * @throws DatabaseDamagedError; the signal's reason
 */
async function isCheckedWhenLarge(
  path: string,
  { wholeFileBytes = WHOLE_FILE_BYTES, checkLarge = checkLargeFile, ...options }: OpenMainOptions,
): Promise<boolean> {
  const bytes = await sizeOf(path);
  if (bytes <= wholeFileBytes) return false;
  const check = await checkLarge(path, bytes, options);
  // Opening a file that could not be read gives the reason.
  if (check.kind !== 'checked') return check.kind === 'too_long';
  if (check.finding !== null) throw new DatabaseDamagedError(path, check.finding);
  return true;
}

/** The size of a file, bytes; 0 without one. Opening a file that cannot be looked at gives the reason. */
async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch {
    return 0;
  }
}
