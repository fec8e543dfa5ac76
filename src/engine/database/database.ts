import { openSqliteDatabase, type Database, type DamageOptions } from './sqlite-database.ts';
import { MAIN_MIGRATIONS } from './main-schema.ts';
import { MAIN_TABLES } from './main-tables.ts';

/** "SLPm" */
const APPLICATION_ID = 0x53_4c_50_6d;

/**
 * Opens the main database: tasks, releases, schedules, events.
 *
 * @param path the file; `:memory:` in tests
 * @throws DatabaseError
 */
export function openDatabase(path: string, options: DamageOptions = {}): Database {
  return openSqliteDatabase({
    path,
    migrations: MAIN_MIGRATIONS,
    applicationId: APPLICATION_ID,
    rules: MAIN_TABLES,
    ...options,
  });
}
