import type { DatabaseSync } from 'node:sqlite';
import { FormatError } from '../format-error.ts';

export interface TableLayout {
  readonly name: string;
  /** Without generated columns, which cannot be written. */
  readonly columns: readonly string[];
  /** The name under which the row id can be read; `null` for a table WITHOUT ROWID. */
  readonly rowId: string | null;
  /** The columns by which a row is addressed: the row id, or the primary key in its order. */
  readonly keys: readonly string[];
}

/** Parts of a database that are not read, because that would run their code or because SQLite keeps them itself. */
export type SkippedKind = 'view' | 'virtual table' | 'shadow table';

/** SQLite reads the row id under each of these names that is not a column. */
const ROW_ID_NAMES = ['rowid', '_rowid_', 'oid'];
/** Each column and key takes two of the 2,000 columns of a result. */
const MAX_CELLS = 1000;

/** Lists the tables in the order of their creation. Internal tables (`sqlite_sequence`) are left out. */
export function listTables(database: DatabaseSync): {
  readonly tables: readonly string[];
  readonly skipped: readonly { readonly name: string; readonly kind: SkippedKind }[];
} {
  const rows = database
    .prepare('SELECT type, name, sql FROM main.sqlite_schema')
    .all()
    .map(({ type, name, sql }) => ({ type: String(type), name: String(name), sql: String(sql) }));
  const isVirtual = (sql: string): boolean => !/^CREATE TABLE\b/i.test(sql);
  const virtual = rows.filter(({ type, sql }) => type === 'table' && isVirtual(sql)).map(({ name }) => name);
  const tables: string[] = [];
  const skipped: { name: string; kind: SkippedKind }[] = [];
  for (const { type, name } of rows) {
    if (type === 'view') skipped.push({ name, kind: 'view' });
    if (type !== 'table' || /^sqlite_/i.test(name)) continue;
    if (virtual.includes(name)) skipped.push({ name, kind: 'virtual table' });
    else if (virtual.some((owner) => name.startsWith(`${owner}_`)))
      skipped.push({ name, kind: 'shadow table' });
    else tables.push(name);
  }
  return { tables, skipped };
}

/** The names of tables with triggers, in lower case. A change of one would run code of the file. */
export function tablesWithTriggers(database: DatabaseSync): ReadonlySet<string> {
  const rows = database.prepare("SELECT tbl_name FROM main.sqlite_schema WHERE type = 'trigger'").all();
  return new Set(rows.map((row) => String(row['tbl_name']).toLowerCase()));
}

/** The columns of foreign keys, and those that they refer to, as {@link columnKey}. A change of one would need changes of other rows. */
export function relatedColumns(database: DatabaseSync): ReadonlySet<string> {
  const related = new Set<string>();
  for (const name of listTables(database).tables) {
    const keys = database.prepare(`PRAGMA main.foreign_key_list(${quoteName(name)})`).all();
    for (const { from, table, to } of keys) {
      related.add(columnKey(name, String(from)));
      // Without a column it refers to the primary key, which is never changed, or to a row id.
      if (to !== null) related.add(columnKey(String(table), String(to)));
    }
  }
  return related;
}

export function columnKey(table: string, column: string): string {
  // Names of SQLite have no case.
  return JSON.stringify([table, column]).toLowerCase();
}

/** Finds out how to read a table. @throws FormatError `sqlite_invalid`, `container_limit_exceeded`; Error from SQLite */
export function readLayout(database: DatabaseSync, name: string): TableLayout {
  const all = database
    .prepare(`PRAGMA main.table_xinfo(${quoteName(name)})`)
    .all()
    .map((row) => ({ name: String(row['name']), key: Number(row['pk']), hidden: Number(row['hidden']) }));
  const stored = all.filter(({ hidden }) => hidden === 0);
  if (stored.length === 0) throw new FormatError('sqlite_invalid', 'the table has no columns');
  const columns = stored.map((column) => column.name);
  const taken = new Set(all.map((column) => column.name.toLowerCase()));
  const free = ROW_ID_NAMES.find((each) => !taken.has(each));
  if (free === undefined) {
    throw new FormatError('sqlite_invalid', `columns hide the row id (${ROW_ID_NAMES.join(', ')})`);
  }
  const rowId = hasColumn(database, name, free) ? free : null;
  const primaryKey = stored
    .filter(({ key }) => key > 0)
    .toSorted((left, right) => left.key - right.key)
    .map((column) => column.name);
  const keys = rowId === null ? primaryKey : [rowId];
  if (columns.length + keys.length > MAX_CELLS) {
    throw new FormatError('container_limit_exceeded', `the table has ${columns.length} columns`);
  }
  return { name, columns, rowId, keys };
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function hasColumn(database: DatabaseSync, table: string, column: string): boolean {
  try {
    database.prepare(`SELECT ${column} FROM main.${quoteName(table)}`);
    return true;
  } catch (error) {
    if (error instanceof Error && error.message === `no such column: ${column}`) return false;
    throw error;
  }
}
