import { openOtherDatabase, type ReadableDatabase } from '../../other-database.ts';
import { openSqliteDatabase, type Database } from '../../../engine/database/sqlite-database.ts';
import { MEMORY_APPLICATION_ID, MEMORY_MIGRATIONS } from './memory-schema.ts';
import { MEMORY_RULES } from './memory-rules.ts';

/** Memory for pages of one file, in KiB. */
const CACHE_KIBIBYTES = 32_768;
/** A checkpoint waits for the disk: one for 32 MiB of the log instead of one for 4 MiB. */
const CHECKPOINT_PAGES = 8192;

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
    rules: MEMORY_RULES,
  });
  database.prepare(`PRAGMA cache_size = -${CACHE_KIBIBYTES}`).run();
  database.prepare(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`).get();
  return database;
}

/** Opens another Translation Memory to read it. @throws DatabaseError */
export function openOtherMemory(path: string): ReadableDatabase {
  return openOtherDatabase(path, {
    name: 'Translation Memory',
    applicationId: MEMORY_APPLICATION_ID,
    migrations: MEMORY_MIGRATIONS,
    rules: MEMORY_RULES,
  });
}
