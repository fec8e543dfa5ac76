import { openSqliteDatabase, type Database } from '../../../../engine/database/sqlite-database.ts';
import { TRANSLATION_MIGRATIONS } from './translation-schema.ts';
import { TRANSLATION_TABLES } from './translation-tables.ts';

/**
 * A checkpoint waits for the disk, and the pages of the index of targets change with every chunk: one for 64 MiB of the log
 * instead of one for 4 MiB. At the journal limit, so that the file of the log is used again.
 */
const CHECKPOINT_PAGES = 16_384;
/** Pages in memory. Units are added in the order of their ids' digests, so each batch touches pages everywhere. */
const CACHE_KIBIBYTES = 16 * 1024;

/** "SLPt" */
const APPLICATION_ID = 0x53_4c_50_74;

/**
 * Opens translation.db, and creates it when it is missing. It holds the work of people: a file that cannot be used stays as it
 * is.
 *
 * @param path the file; `:memory:` in tests
 * @throws DatabaseError
 */
export function openWorkDatabase(path: string): Database {
  const database = openSqliteDatabase({
    path,
    migrations: TRANSLATION_MIGRATIONS,
    applicationId: APPLICATION_ID,
    rules: TRANSLATION_TABLES,
  });
  database.prepare(`PRAGMA cache_size = -${CACHE_KIBIBYTES}`).run();
  database.prepare(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`).get();
  return database;
}
