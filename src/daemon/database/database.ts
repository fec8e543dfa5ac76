import { openSqliteDatabase, type Database, type SqliteDatabaseOptions } from './sqlite-database.ts';
import type { Migration } from './migrate.ts';
import { TASKS_MIGRATION } from './migrations/0001-tasks.ts';
import { RELEASES_MIGRATION } from './migrations/0002-releases.ts';
import { SCHEDULES_MIGRATION } from './migrations/0003-schedules.ts';
import { DAMAGE_ORIGIN_MIGRATION } from './migrations/0004-damage-origin.ts';
import { EVENTS_MIGRATION } from './migrations/0005-events.ts';
import { SCHEDULE_ORIGIN_MIGRATION } from './migrations/0006-schedule-origin.ts';
import { REPAIRS_MIGRATION } from './migrations/0007-repairs.ts';
import { SERVER_INFO_MIGRATION } from './migrations/0008-server-info-beside-manifest.ts';
import { RESERVED_VERSIONS_MIGRATION } from './migrations/0009-reserved-versions.ts';
import { LOCALIZED_MIGRATION } from './migrations/0010-localized.ts';
import { TASK_TRACES_MIGRATION } from './migrations/0011-task-traces.ts';
import { ORIGIN_MIGRATION } from './migrations/0012-origin.ts';
import { ANNOUNCED_RELEASE_MIGRATION } from './migrations/0013-announced-release.ts';
import { ORIGIN_NAMING_MIGRATION } from './migrations/0014-origin-naming.ts';
import { PUBLISH_FINDER_MIGRATION } from './migrations/0015-publish-finder.ts';

/** The steps of the main database's schema. */
export const MAIN_MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'tasks', sql: TASKS_MIGRATION },
  { version: 2, name: 'releases', sql: RELEASES_MIGRATION },
  { version: 3, name: 'schedules', sql: SCHEDULES_MIGRATION },
  { version: 4, name: 'damage-origin', sql: DAMAGE_ORIGIN_MIGRATION },
  { version: 5, name: 'events', sql: EVENTS_MIGRATION },
  { version: 6, name: 'schedule-origin', sql: SCHEDULE_ORIGIN_MIGRATION },
  { version: 7, name: 'repairs', sql: REPAIRS_MIGRATION },
  { version: 8, name: 'server-info-beside-manifest', sql: SERVER_INFO_MIGRATION },
  { version: 9, name: 'reserved-versions', sql: RESERVED_VERSIONS_MIGRATION },
  { version: 10, name: 'localized', sql: LOCALIZED_MIGRATION },
  { version: 11, name: 'task-traces', sql: TASK_TRACES_MIGRATION },
  { version: 12, name: 'origin', sql: ORIGIN_MIGRATION },
  { version: 13, name: 'announced-release', sql: ANNOUNCED_RELEASE_MIGRATION },
  { version: 14, name: 'origin-naming', sql: ORIGIN_NAMING_MIGRATION },
  { version: 15, name: 'publish-finder', sql: PUBLISH_FINDER_MIGRATION },
];

/** "SLPm" */
const APPLICATION_ID = 0x53_4c_50_6d;

/**
 * Opens the main database: tasks, releases, schedules, events.
 *
 * @param path the file; `:memory:` in tests
 * @throws DatabaseError
 */
export function openDatabase(path: string, options: Pick<SqliteDatabaseOptions, 'isChecked'> = {}): Database {
  return openSqliteDatabase({
    path,
    migrations: MAIN_MIGRATIONS,
    applicationId: APPLICATION_ID,
    ...options,
  });
}
