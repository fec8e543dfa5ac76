import { rmSync } from 'node:fs';
import { DatabaseDamagedError, ForeignDatabaseError } from '../../database/database-error.ts';
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

/**
 * Opens the database of the parse index. A file that is damaged or has another schema is deleted and an empty one takes its
 * place: parsing the release fills it again.
 *
 * @param path the file; `:memory:` in tests
 * @throws DatabaseError when the file cannot be opened or written
 */
export function openIndexDatabase(path: string): IndexDatabase {
  try {
    return { database: open(path), rebuilt: null };
  } catch (error) {
    if (!(error instanceof DatabaseDamagedError || error instanceof ForeignDatabaseError)) throw error;
    removeIndexFiles(path);
    return { database: open(path), rebuilt: messageOf(error) };
  }
}

/** Deletes the files of the index. Nothing in them is lost: parsing the release makes them again. */
export function removeIndexFiles(path: string): void {
  for (const suffix of SUFFIXES) rmSync(`${path}${suffix}`, { force: true });
}

function open(path: string): Database {
  const database = openSqliteDatabase({
    path,
    migrations: [{ version: 1, name: 'index', sql: INDEX_SCHEMA }],
    applicationId: APPLICATION_ID,
  });
  // A power failure may lose the last batches but damages nothing (sqlite.org/pragma.html, synchronous).
  database.prepare('PRAGMA synchronous = NORMAL').run();
  // A checkpoint waits for the disk: one for 32 MiB of the log instead of one for 4 MiB.
  database.prepare('PRAGMA wal_autocheckpoint = 8192').get();
  return database;
}
