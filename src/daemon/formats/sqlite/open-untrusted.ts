import { constants, DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

/** Statements on an untrusted database may only read tables, ask for the layout and measure values. */
const ALLOWED_PRAGMAS = new Set(['encoding', 'page_count', 'table_xinfo']);
const ALLOWED_FUNCTIONS = new Set(['typeof', 'octet_length']);

/** Characters of the SQL of a table; SQLite's own default. */
const SQL_LENGTH = 1_000_000;

/**
 * Opens a database whose content and schema are not trusted. It is read as an immutable file: SQLite creates no side
 * files, takes no locks and ignores journals, so the file must not change until the database is closed.
 *
 * Only reading of tables is authorized, without functions of the schema: no view, trigger, virtual table or expression
 * of the file runs. SQLite offers no time limit through `node:sqlite`; the caller's process needs a deadline.
 *
 * @throws Error from SQLite
 */
export function openUntrusted(path: string): DatabaseSync {
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  const database = new DatabaseSync(url, {
    readOnly: true,
    allowExtension: false,
    defensive: true,
    enableDoubleQuotedStringLiterals: false,
    limits: { sqlLength: SQL_LENGTH, attach: 0 },
  });
  database.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON');
  database.setAuthorizer((action, first, second) => {
    const allowed =
      action === constants.SQLITE_SELECT ||
      action === constants.SQLITE_READ ||
      (action === constants.SQLITE_PRAGMA && ALLOWED_PRAGMAS.has(first ?? '')) ||
      (action === constants.SQLITE_FUNCTION && ALLOWED_FUNCTIONS.has(second ?? ''));
    return allowed ? constants.SQLITE_OK : constants.SQLITE_DENY;
  });
  return database;
}
