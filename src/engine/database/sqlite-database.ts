import { DatabaseSync } from 'node:sqlite';
import {
  damagedRows,
  prepareChecked,
  type DamagedRow,
  type RowChecks,
  type Statement,
} from './checked-rows.ts';
import {
  DatabaseDamagedError,
  DatabaseError,
  ForeignDatabaseError,
  type DamagedRowError,
} from './database-error.ts';
import type { TableRules } from './column-rules.ts';
import { migrate, type Migration } from './migrate.ts';
import { describeStorageError, isDatabaseDamage } from './storage-failure.ts';
import { checkStructure } from './structure-check.ts';
import { checkStructureInThread } from './structure-thread.ts';
import { makePrivateFile } from '../../platform/files/private-files.ts';
import { messageOf } from '../../platform/errors.ts';

/** Compiles statements for the rows of a database. */
interface StatementSource {
  /** Compiles a statement, which checks the rows that it reads; keep it and use it again. */
  prepare(sql: string): Statement;
}

/** The content of a database at one moment, on a connection of its own that cannot write. */
export interface ReadSnapshot extends StatementSource {
  /** Ends it; further calls do nothing. */
  close(): void;
}

/** One open SQLite database of the daemon. Every call is synchronous. */
export interface Database extends StatementSource {
  /** Where the file is; `:memory:` in tests. */
  readonly path: string;
  /** Version of the schema, after migration. */
  readonly schemaVersion: number;
  /** Reads a whole table and gives its damaged rows. */
  damagedRows(table: string): Iterable<DamagedRow>;
  /**
   * Runs `section` in one write transaction (BEGIN IMMEDIATE) and rolls back when it throws. A call inside a section
   * is a savepoint of the outer transaction.
   *
   * @param section must not wait for anything: other code would run inside its transaction
   */
  transaction<T>(section: () => T, options?: TransactionOptions): T;
  /**
   * Opens the content of this moment, which later writes do not change. The log cannot be cut back meanwhile, so close it soon.
   * Closing the database closes it, too.
   */
  openSnapshot(): ReadSnapshot;
  /** Checks the structure of the file, without blocking this thread; gives the first finding, or `null`. */
  checkStructure(): Promise<string | null>;
  /** Writes the log back into the file and closes it; further calls do nothing. */
  close(): void;
}

interface TransactionOptions {
  /**
   * Default: that of the database. True: the commit waits for the disk. False: it survives the end of the process, but not always that of the
   * machine. Inside a section this has no effect.
   */
  readonly durable?: boolean;
  /** Default: false. True: the changes are only tried, and taken back when the section has returned. */
  readonly isTrial?: boolean;
}

/** What a caller does about damage. */
export interface DamageOptions {
  /** Called with each damaged value that a statement reads, before it throws. */
  readonly onDamagedRow?: ((error: DamagedRowError) => void) | undefined;
  /** Whether the caller has just checked the structure of the file; default: it is checked here, which blocks this thread. */
  readonly isChecked?: boolean;
}

interface SqliteDatabaseOptions extends DamageOptions {
  readonly path: string;
  /** In ascending order of their versions, without a gap; see {@link migrate}. */
  readonly migrations: readonly Migration[];
  /** Identifies whose file it is; refuses a file of someone else. */
  readonly applicationId: number;
  /** The rules of all columns. */
  readonly rules: TableRules;
  /**
   * Default of all transactions: true. False for content that can be made again: a power failure may lose the last transactions,
   * but damages nothing (sqlite.org/pragma.html, synchronous).
   */
  readonly durable?: boolean;
}

/**
 * Milliseconds after which the check in this thread begins no further step; the doctor checks the rest. A large main database is
 * checked in another process, with a limit of its own.
 */
const START_CHECK_MS = 5000;
const BUSY_TIMEOUT_MS = 5000;
/** The log file is cut back to this after a checkpoint; a large import leaves it larger. */
const JOURNAL_LIMIT_BYTES = 64 * 1024 * 1024;

/**
 * Opens a database, checks its structure and brings its schema up to date.
 *
 * @throws DatabaseDamagedError; DatabaseError when the file is of another program, of a newer version, or where WAL does not work
 *
 * Source: sqlite.org/wal.html (one host only), sqlite.org/pragma.html.
 */
export function openSqliteDatabase(options: SqliteDatabaseOptions): Database {
  const { path, rules, onDamagedRow, durable = true, isChecked = false } = options;
  const checks = { path, rules, onDamagedRow };
  const raw = openFile(path);
  try {
    configure(raw, path, durable);
    const finding = isChecked ? null : checkAtStart(raw);
    if (finding !== null) throw new DatabaseDamagedError(path, finding);
    claimFile(raw, options);
    const transaction = createTransaction(raw, durable);
    const schemaVersion = migrate(raw, path, options.migrations, transaction);
    const snapshots = new Set<ReadSnapshot>();
    return {
      path,
      schemaVersion,
      prepare: (sql) => prepareChecked(raw, sql, checks),
      damagedRows: (table) => damagedRows(raw, checks, table),
      transaction,
      openSnapshot: () => openSnapshot(checks, snapshots),
      checkStructure: async () => await checkStructureInThread(path),
      close: () => {
        for (const each of snapshots) each.close();
        if (raw.isOpen) raw.close();
      },
    };
  } catch (error) {
    raw.close();
    if (error instanceof DatabaseError) throw error;
    if (isDatabaseDamage(error)) throw new DatabaseDamagedError(path, messageOf(error), error);
    throw new DatabaseError(`the database ${path} cannot be used: ${describeStorageError(error)}`, error);
  }
}

function openFile(path: string): DatabaseSync {
  try {
    // SQLite gives its other files the rights of the database.
    if (path !== ':memory:') makePrivateFile(path);
    return new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: BUSY_TIMEOUT_MS });
  } catch (error) {
    throw new DatabaseError(
      `the database ${path} cannot be opened: ${messageOf(error)}; the folder must exist and be writable`,
      error,
    );
  }
}

/** @param open those that are open; the new one is among them until it is closed */
function openSnapshot(checks: RowChecks, open: Set<ReadSnapshot>): ReadSnapshot {
  const { path } = checks;
  const raw = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    // The moment is that of the first read in the transaction (sqlite.org/isolation.html).
    raw.exec('PRAGMA trusted_schema = OFF; BEGIN; SELECT count(*) FROM sqlite_schema');
  } catch (error) {
    raw.close();
    throw error;
  }
  const snapshot: ReadSnapshot = {
    prepare: (sql) => prepareChecked(raw, sql, checks),
    close: () => {
      open.delete(snapshot);
      if (raw.isOpen) raw.close();
    },
  };
  open.add(snapshot);
  return snapshot;
}

function configure(raw: DatabaseSync, path: string, durable: boolean): void {
  const mode = pragma(raw, 'journal_mode = WAL');
  if (mode !== 'wal' && path !== ':memory:') {
    throw new DatabaseError(
      `the file system of ${path} does not support a write-ahead log (mode ${String(mode)}); use a local one, not NFS`,
    );
  }
  raw.exec(`${synchronous(durable)}; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS};
    PRAGMA journal_size_limit = ${JOURNAL_LIMIT_BYTES}; PRAGMA trusted_schema = OFF;`);
}

/** Marks a new file as ours, and refuses one that belongs to another program. */
function claimFile(raw: DatabaseSync, { path, applicationId }: SqliteDatabaseOptions): void {
  const found = pragma(raw, 'application_id');
  if (found === applicationId) return;
  const objects = raw.prepare('SELECT count(*) AS count FROM sqlite_schema').get();
  if (found !== 0 || objects?.['count'] !== 0) {
    throw new ForeignDatabaseError(
      `${path} is a database of another program (application id ${String(found)}); configure another data folder`,
    );
  }
  raw.exec(`PRAGMA application_id = ${applicationId}`);
}

function checkAtStart(raw: DatabaseSync): string | null {
  const deadline = performance.now() + START_CHECK_MS;
  for (const finding of checkStructure(raw)) {
    if (finding !== null || performance.now() > deadline) return finding;
  }
  return null;
}

/** The first column of the first row of a pragma. */
function pragma(raw: DatabaseSync, text: string): unknown {
  const row = raw.prepare(`PRAGMA ${text}`).get();
  return row === undefined ? undefined : Object.values(row)[0];
}

function synchronous(durable: boolean): string {
  return `PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`;
}

function createTransaction(raw: DatabaseSync, isDurable: boolean): Database['transaction'] {
  let depth = 0;
  const undo = (point: string | null): void => {
    raw.exec(point === null ? 'ROLLBACK' : `ROLLBACK TO ${point}; RELEASE ${point}`);
  };
  const run = <T>(section: () => T, isTrial: boolean): T => {
    const point = depth === 0 ? null : `nested_${depth}`;
    raw.exec(point === null ? 'BEGIN IMMEDIATE' : `SAVEPOINT ${point}`);
    depth += 1;
    try {
      const result = section();
      if (result instanceof Promise)
        throw new TypeError('a transaction must not wait: its section is asynchronous');
      if (isTrial) undo(point);
      else raw.exec(point === null ? 'COMMIT' : `RELEASE ${point}`);
      return result;
    } catch (error) {
      // SQLite itself rolls back on some errors (disk full), and then there is nothing left to roll back.
      if (raw.isTransaction) undo(point);
      throw error;
    } finally {
      depth -= 1;
    }
  };
  return (section, { durable = isDurable, isTrial = false } = {}) => {
    if (durable === isDurable || depth > 0) return run(section, isTrial);
    raw.exec(synchronous(durable));
    try {
      return run(section, isTrial);
    } finally {
      raw.exec(synchronous(isDurable));
    }
  };
}
