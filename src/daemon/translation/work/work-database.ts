import { openSqliteDatabase, type Database } from '../../database/sqlite-database.ts';
import { TRANSLATION_MIGRATIONS } from './translation-schema.ts';

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
  return openSqliteDatabase({ path, migrations: TRANSLATION_MIGRATIONS, applicationId: APPLICATION_ID });
}
