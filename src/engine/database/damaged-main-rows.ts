import { existsSync, readFileSync } from 'node:fs';
import { messageOf } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { DamagedRowError } from './database-error.ts';
import { MAIN_TABLES } from './main-tables.ts';
import type { Database } from './sqlite-database.ts';
import { rmSync, writeFileSync } from '../../platform/files/file-changes.ts';

/**
 * Tables of which a damaged row is removed: less is lost than with an empty database in the place of this one. Rows of the other
 * tables belong together: a release without its entries or its damage would count as sound.
 */
const DROPPED_TABLES: ReadonlySet<string> = new Set([
  'task',
  'task_log',
  'idempotency',
  'attestation_state',
  'upstream_probe',
  'schedule',
  'release_event',
  'event_delivery',
  'repair_attempt',
  'localized_rollback',
  'patched_container',
  'origin_attestation',
  'origin_naming',
]);

/** Tables with too many rows to read at each start; their rows are checked when they are used. */
const LARGE_TABLES: ReadonlySet<string> = new Set(['catalog_entry', 'known_object', 'task_log']);

/** Tables whose rows are removed at a start only, which makes them again: from the volume, or from the configuration. */
const START_TABLES: ReadonlySet<string> = new Set(['attestation_state', 'schedule']);

/**
 * A row of `attestation_state` also says that the store is this daemon's, so it stays, with the values of a store without
 * attestation. The daemon then skips a block of versions, so that no version is used again.
 */
const FORGET_ATTESTATION = `UPDATE attestation_state SET version = 0, reserved_version = 0, payload_sha256 = NULL, envelope = NULL,
  issued_at = NULL, expires_at = NULL`;

/**
 * Checks the rows of all but the large tables, and removes damaged ones that the daemon can do without.
 *
 * @throws DamagedRowError for one that it needs
 */
export function checkRowsAtStart(database: Database, logger: Logger): void {
  for (const table of Object.keys(MAIN_TABLES)) {
    if (!LARGE_TABLES.has(table)) dropDamagedRows(database, table, logger);
  }
}

function dropDamagedRows(database: Database, table: string, logger: Logger): void {
  // All of them before the first is deleted.
  const damaged = Array.from(database.damagedRows(table));
  for (const { error, condition } of damaged) {
    if (!DROPPED_TABLES.has(table)) throw error;
    database.prepare(removalOf(error, condition)).run();
    logger.error(fieldsOf(error), `a damaged row of the database is removed: ${error.finding}`);
  }
}

function removalOf({ value: { table, column } }: DamagedRowError, condition: string): string {
  if (table !== 'attestation_state') return `DELETE FROM "${table}" WHERE ${condition}`;
  // The rows of other stores alone would say that the store on the volume is another daemon's.
  return column === 'store_id' ? 'DELETE FROM attestation_state' : `${FORGET_ATTESTATION} WHERE ${condition}`;
}

function fieldsOf({ value: { table, column, key } }: DamagedRowError): Readonly<Record<string, unknown>> {
  const row = Object.entries(key).map(([name, part]) => `${name} ${String(part)}`);
  return { table, column, row: row.join(', ') };
}

/** The database of a running daemon, and what it can do about damage. */
interface RunningDatabase {
  readonly database: Database;
  readonly logger: Logger;
  /** Whether this process has already replaced a damaged file. */
  readonly isRebuilt: boolean;
  /** Ends the process with a reason; the next start repairs the database. */
  readonly restart: (reason: string) => void;
}

/**
 * Creates the answer to damaged values that a running daemon reads. The read fails in any case. A row that the daemon can do without is
 * removed then; otherwise the daemon starts again, and puts an empty database in the place of this one. It does so once: when a new
 * database is damaged as well, a person has to look at the disk.
 */
export function createDamageAnswer({ database, logger, isRebuilt, restart }: RunningDatabase) {
  const answered = new Set<string>();
  const drop = (table: string): void => {
    try {
      dropDamagedRows(database, table, logger);
    } catch (error) {
      logger.error({ table }, `damaged rows could not be removed: ${messageOf(error)}`);
    } finally {
      answered.delete(table);
    }
  };
  return (error: DamagedRowError): void => {
    const { table } = error.value;
    if (answered.has(table)) return;
    answered.add(table);
    logger.error(fieldsOf(error), `a value in the database is damaged: ${error.message}`);
    if (DROPPED_TABLES.has(table) && !START_TABLES.has(table)) {
      // Not inside of the transaction that reads.
      setImmediate(drop, table);
      return;
    }
    try {
      if (!DROPPED_TABLES.has(table)) writeFileSync(markOf(database.path), error.finding, { mode: 0o600 });
      if (!isRebuilt) restart(`the database is damaged: ${error.finding}`);
    } catch (failure) {
      // Without the mark the next start might find nothing, and end for the same reason.
      logger.error({ table }, `the database cannot be marked as damaged: ${messageOf(failure)}`);
      answered.delete(table);
    }
  };
}

/** The suffix of the file that says that the next start must replace the database. */
export const MARK_SUFFIX = '-damaged';

/** What a running daemon found damaged in a database, so that it must be replaced; `null` when it found nothing. */
export function markedFinding(path: string): string | null {
  if (!existsSync(markOf(path))) return null;
  if (existsSync(path)) return readFileSync(markOf(path), 'utf8');
  // A person has already removed the database.
  rmSync(markOf(path));
  return null;
}

function markOf(path: string): string {
  return `${path}${MARK_SUFFIX}`;
}
