import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { DatabaseError, ForeignDatabaseError } from '../../database/database-error.ts';
import { openSqliteDatabase, type Database } from '../../database/sqlite-database.ts';
import { describeStorageError } from '../../database/storage-failure.ts';
import { GLOSSARY_APPLICATION_ID, GLOSSARY_MIGRATIONS } from './glossary-schema.ts';

/** A Glossary that can be read. */
export interface ReadableDatabase {
  prepare(sql: string): StatementSync;
  close(): void;
}

const BUSY_TIMEOUT_MS = 5000;

/**
 * Opens the daemon's own Glossary; a missing file is created. A damaged file, or one of another program or a newer schema,
 * is never changed.
 *
 * @throws DatabaseError
 */
export function openMainGlossary(path: string): Database {
  return openSqliteDatabase({
    path,
    migrations: GLOSSARY_MIGRATIONS,
    applicationId: GLOSSARY_APPLICATION_ID,
  });
}

/**
 * Opens another Glossary to read it. It must have the current schema, because nothing is written to it.
 *
 * @throws DatabaseError
 */
export function openOtherGlossary(path: string): ReadableDatabase {
  let raw: DatabaseSync | null = null;
  try {
    raw = new DatabaseSync(path, { readOnly: true, defensive: true, timeout: BUSY_TIMEOUT_MS });
    raw.exec('PRAGMA trusted_schema = OFF');
    checkOwner(raw, path);
    return raw;
  } catch (error) {
    raw?.close();
    if (error instanceof DatabaseError) throw error;
    throw new DatabaseError(`the Glossary ${path} cannot be read: ${describeStorageError(error)}`, error);
  }
}

function checkOwner(raw: DatabaseSync, path: string): void {
  const owner = raw.prepare('PRAGMA application_id').get()?.['application_id'];
  if (owner !== GLOSSARY_APPLICATION_ID)
    throw new ForeignDatabaseError(`${path} is not a Glossary of Slipway`);
  const version = raw.prepare('PRAGMA user_version').get()?.['user_version'];
  const known = GLOSSARY_MIGRATIONS.length;
  if (version === known) return;
  throw new ForeignDatabaseError(
    `${path} has the schema ${String(version)}, and this daemon reads other files of schema ${known} only; open it once as the main file of a daemon of this version`,
  );
}
