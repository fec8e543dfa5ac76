import { rmSync } from 'node:fs';
import { DatabaseDamagedError, ForeignDatabaseError } from '../../database/database-error.ts';
import { keepAside } from '../../database/keep-aside.ts';
import { openSqliteDatabase, type Database } from '../../database/sqlite-database.ts';
import { messageOf } from '../../../platform/errors.ts';
import { INDEX_SCHEMA, INDEX_SCHEMA_VERSION } from './index-schema.ts';

/** The database of the parse index, and why it replaces the file that was there before. */
export interface IndexDatabase {
  readonly database: Database;
  /** The problem of the old file; `null` when the file was sound or missing. */
  readonly rebuilt: string | null;
}

/** "SLI" and the version of the schema: a file of another version is treated as one of another program. */
const APPLICATION_ID = 0x53_4c_49_00 + INDEX_SCHEMA_VERSION;
/** The files of one SQLite database. */
const SUFFIXES = ['', '-wal', '-shm'];
/** One damaged file is kept for diagnosis: an index may have hundreds of megabytes. */
const KEPT_DAMAGED = 1;

/**
 * Opens the database of the parse index. A file that is damaged is set aside, one that has another schema is deleted, and an
 * empty one takes its place: parsing the release fills it again.
 *
 * @param path the file; `:memory:` in tests
 * @param now for the name of a damaged file
 * @throws DatabaseError when the file cannot be opened or written
 */
export function openIndexDatabase(path: string, now: Date): IndexDatabase {
  try {
    return { database: open(path), rebuilt: null };
  } catch (error) {
    if (!(error instanceof DatabaseDamagedError || error instanceof ForeignDatabaseError)) throw error;
    if (error instanceof DatabaseDamagedError) setIndexAside(path, now);
    else for (const suffix of SUFFIXES) rmSync(`${path}${suffix}`, { force: true });
    return { database: open(path), rebuilt: messageOf(error) };
  }
}

/** Renames the files of a damaged index. Nothing in them is lost: parsing the release makes them again. */
export function setIndexAside(path: string, now: Date): void {
  keepAside(path, now, SUFFIXES, KEPT_DAMAGED);
}

function open(path: string): Database {
  const database = openSqliteDatabase({
    path,
    migrations: [{ version: 1, name: 'index', sql: INDEX_SCHEMA }],
    applicationId: APPLICATION_ID,
    // A batch that a power failure loses is parsed again.
    durable: false,
  });
  // A checkpoint waits for the disk: one for 32 MiB of the log instead of one for 4 MiB.
  database.prepare('PRAGMA wal_autocheckpoint = 8192').get();
  return database;
}
