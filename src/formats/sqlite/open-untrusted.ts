import { constants, DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { FormatError } from '../format-error.ts';

/** Statements on an untrusted database may only read tables, ask for the layout and measure values. */
const ALLOWED_PRAGMAS = new Set(['encoding', 'foreign_key_list', 'page_count', 'table_xinfo']);
const ALLOWED_FUNCTIONS = new Set(['typeof', 'octet_length']);

/** A copy that is changed is checked. */
const COPY_PRAGMAS = new Set(['integrity_check']);
/** Characters of the SQL of a table; SQLite's own default. */
const SQL_LENGTH = 1_000_000;

const OPTIONS = {
  allowExtension: false,
  defensive: true,
  enableDoubleQuotedStringLiterals: false,
  limits: { sqlLength: SQL_LENGTH, attach: 0 },
} as const;

/**
 * Opens a database whose content and schema are not trusted. It is read as an immutable file: SQLite creates no side
 * files, takes no locks and ignores journals, so the file must not change until the database is closed.
 *
 * Only reading of tables is authorized, without functions of the schema: no view, trigger, virtual table or expression
 * of the file runs. SQLite offers no time limit through `node:sqlite`; the caller's process needs a deadline.
 */
export function openUntrusted(path: string): DatabaseSync {
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  const database = new DatabaseSync(url, { ...OPTIONS, readOnly: true });
  database.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON');
  database.setAuthorizer((action, first, second) => verdict(isReading(action, first, second)));
  return database;
}

/**
 * Opens a private copy of a database whose content and schema are not trusted, to change columns of its tables. Nothing
 * undoes a change that fails: the copy is worthless then.
 *
 * As in {@link openUntrusted}, no code of the file runs, apart from the constraints, indexes and generated columns of the
 * changed tables. SQLite lets them use functions without side effects only, because the schema is not trusted.
 *
 * @param mayUpdate whether a column may be changed
 */
export function openUntrustedCopy(
  path: string,
  mayUpdate: (table: string, column: string) => boolean,
): DatabaseSync {
  const database = new DatabaseSync(pathToFileURL(path), { ...OPTIONS, enableForeignKeyConstraints: false });
  database.exec(
    `PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY`,
  );
  database.setAuthorizer((action, first, second) => {
    const allowed =
      isReading(action, first, second) ||
      action === constants.SQLITE_TRANSACTION ||
      (action === constants.SQLITE_PRAGMA && COPY_PRAGMAS.has(first ?? '')) ||
      (action === constants.SQLITE_UPDATE && mayUpdate(first ?? '', second ?? ''));
    return verdict(allowed);
  });
  return database;
}

function isReading(action: number, first: string | null, second: string | null): boolean {
  return (
    action === constants.SQLITE_SELECT ||
    action === constants.SQLITE_READ ||
    (action === constants.SQLITE_PRAGMA && ALLOWED_PRAGMAS.has(first ?? '')) ||
    (action === constants.SQLITE_FUNCTION && ALLOWED_FUNCTIONS.has(second ?? ''))
  );
}

function verdict(allowed: boolean): number {
  return allowed ? constants.SQLITE_OK : constants.SQLITE_DENY;
}

const NO_MEMORY = 7;
const DISK_FULL = 13;
const CANNOT_OPEN = 14;
/** Extended codes of a write that the system refused: to write, to flush and to cut the file. */
const REFUSED_WRITES: ReadonlySet<number> = new Set([778, 1034, 1546]);
const MESSAGE_LENGTH = 200;

/**
 * The error of a reader or a writer for an error of SQLite. A disk that cannot be written says nothing about the database, so it is
 * an error of the system with the code of errno.
 *
 * @returns any other error as it is
 */
export function sqliteError(error: unknown): unknown {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return error;
  // Names of the file are part of a message, so it can have any length.
  const message = `SQLite: ${error.message.slice(0, MESSAGE_LENGTH)}`;
  if (REFUSED_WRITES.has(error.errcode)) return systemError('EIO', message);
  // The low byte is the primary code (sqlite.org/rescode.html).
  switch (error.errcode & 0xff) {
    case NO_MEMORY:
      return new FormatError('memory_exceeded', message);
    case DISK_FULL:
      return systemError('ENOSPC', message);
    case CANNOT_OPEN:
      return new FormatError('file_unreadable', message);
    default:
      return new FormatError('sqlite_invalid', message);
  }
}

function systemError(code: 'EIO' | 'ENOSPC', message: string): Error {
  return Object.assign(new Error(message), { code, syscall: 'write' });
}
