import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { DatabaseError, ForeignDatabaseError } from '../../database/database-error.ts';
import { openSqliteDatabase, type Database } from '../../database/sqlite-database.ts';
import { describeStorageError } from '../../database/storage-failure.ts';
import { MEMORY_APPLICATION_ID, MEMORY_MIGRATIONS } from './memory-schema.ts';

/** A Translation Memory that can be read. */
export interface ReadableDatabase {
  prepare(sql: string): StatementSync;
  close(): void;
}

/** Memory for pages of one file, in KiB. */
const CACHE_KIBIBYTES = 32_768;
/** A checkpoint waits for the disk: one for 32 MiB of the log instead of one for 4 MiB. */
const CHECKPOINT_PAGES = 8192;
const BUSY_TIMEOUT_MS = 5000;

/**
 * Opens the daemon's own Translation Memory. A missing file is created; a damaged one, or one of another program or a newer
 * schema, is never changed.
 *
 * @throws DatabaseError
 */
export function openMainMemory(path: string): Database {
  const database = openSqliteDatabase({
    path,
    migrations: MEMORY_MIGRATIONS,
    applicationId: MEMORY_APPLICATION_ID,
  });
  database.prepare(`PRAGMA cache_size = -${CACHE_KIBIBYTES}`).run();
  database.prepare(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`).get();
  return database;
}

/**
 * Opens another Translation Memory to read it. It must have the current schema, because nothing is written to it.
 *
 * @throws DatabaseError
 */
export function openOtherMemory(path: string): ReadableDatabase {
  let raw: DatabaseSync | null = null;
  try {
    raw = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    raw.exec('PRAGMA trusted_schema = OFF');
    checkOwner(raw, path);
    return raw;
  } catch (error) {
    raw?.close();
    if (error instanceof DatabaseError) throw error;
    throw new DatabaseError(
      `the Translation Memory ${path} cannot be read: ${describeStorageError(error)}`,
      error,
    );
  }
}

function checkOwner(raw: DatabaseSync, path: string): void {
  const owner = raw.prepare('PRAGMA application_id').get()?.['application_id'];
  if (owner !== MEMORY_APPLICATION_ID)
    throw new ForeignDatabaseError(`${path} is not a Translation Memory of Slipway`);
  const version = raw.prepare('PRAGMA user_version').get()?.['user_version'];
  const known = MEMORY_MIGRATIONS.length;
  if (version === known) return;
  throw new ForeignDatabaseError(
    `${path} has the schema ${String(version)}, and this daemon reads other files of schema ${known} only; open it once as the main file of a daemon of this version`,
  );
}
