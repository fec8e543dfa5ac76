import { openSqliteDatabase, type Database } from '../../database/sqlite-database.ts';
import { TRANSLATION_MIGRATIONS } from './translation-schema.ts';

/** "SLPt" */
const APPLICATION_ID = 0x53_4c_50_74;

/** Pages of SQLite: storing targets changes several indexes at places without an order. SQLite's default is 2 MiB. */
const CACHE_KIBIBYTES = 8 * 1024;

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
  });
  database.prepare(`PRAGMA cache_size = -${CACHE_KIBIBYTES}`).run();
  return database;
}
