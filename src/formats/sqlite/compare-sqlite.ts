import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { DOTTED_SYNTAX } from '../collect/path-syntax.ts';
import { readableOr } from '../format-error.ts';
import { isNested, type ValueEdit } from '../patch/find-places.ts';
import { PatchError } from '../patch/patch-error.ts';
import { hasSameHeader } from './file-header.ts';
import { openUntrusted, sqliteError } from './open-untrusted.ts';
import { rowName, type Cell } from './row-query.ts';
import { quoteName, readLayout, type TableLayout } from './table-layout.ts';
import { textDecoder } from './visit-sqlite.ts';

interface SqliteComparison {
  readonly rows: number;
  /** Values that differ, all of them by an edit. */
  readonly changed: number;
}

interface Pair {
  readonly before: DatabaseSync;
  readonly after: DatabaseSync;
  readonly edits: ReadonlyMap<string, ValueEdit>;
  readonly decode: (bytes: Buffer) => string;
}

/**
 * Checks that a patched database has its edits and is else the same: schema, settings of the header, every row and every
 * value, those that the parser does not read included. Holds one row of each at a time.
 *
 * @throws PatchError `round_trip_failed` for the first difference; FormatError when a database cannot be read
 */
export function compareSqlite(
  beforePath: string,
  afterPath: string,
  edits: readonly ValueEdit[],
): SqliteComparison {
  if (!hasSameHeader(beforePath, afterPath)) throw differs('', 'the headers of the two databases differ');
  const before = openUntrusted(beforePath);
  try {
    const after = openUntrusted(afterPath);
    try {
      return comparePair({
        before,
        after,
        edits: new Map(edits.map((edit) => [edit.fieldPath, edit])),
        decode: textDecoder(String(before.prepare('PRAGMA main.encoding').get()?.['encoding'])),
      });
    } finally {
      after.close();
    }
  } catch (error) {
    throw sqliteError(error);
  } finally {
    before.close();
  }
}

function comparePair(pair: Pair): SqliteComparison {
  const schemaOf = (database: DatabaseSync): string =>
    JSON.stringify(database.prepare('SELECT type, name, tbl_name, sql FROM main.sqlite_schema').all());
  const schema = schemaOf(pair.before);
  if (schema !== schemaOf(pair.after)) throw differs('', 'the schemas of the two databases differ');
  const tables = (JSON.parse(schema) as { type: string; name: string; sql: string | null }[])
    // A virtual table stores its content in ordinary ones.
    .filter(({ type, sql }) => type === 'table' && /^CREATE TABLE\b/i.test(sql ?? ''))
    .map(({ name }) => name);
  let rows = 0;
  let changed = 0;
  for (const name of tables) {
    const counts = compareTable(pair, name);
    rows += counts.rows;
    changed += counts.changed;
  }
  return { rows, changed };
}

function compareTable(pair: Pair, name: string): SqliteComparison {
  const layout = readLayout(pair.before, name);
  const [before, after] = [rowsOf(pair.before, layout), rowsOf(pair.after, layout)];
  let rows = 0;
  let changed = 0;
  try {
    for (;;) {
      const [left, right] = [before.next(), after.next()];
      if (left.done === true && right.done === true) return { rows, changed };
      if (left.done === true || right.done === true) throw differs(name, 'a table has another count of rows');
      rows += 1;
      changed += compareRow(pair, layout, left.value, right.value);
    }
  } finally {
    before.return?.();
    after.return?.();
  }
}

/** The rows of a table in the order of their keys: the cells of the key, then those of the columns. */
function rowsOf(
  database: DatabaseSync,
  { name, columns, rowId, keys }: TableLayout,
): Iterator<SQLOutputValue[]> {
  const names = [...(rowId === null ? keys.map(quoteName) : keys), ...columns.map(quoteName)];
  const cells = names.map(
    (each) => `typeof(${each}), CASE typeof(${each}) WHEN 'text' THEN CAST(${each} AS BLOB) ELSE ${each} END`,
  );
  const order = rowId === null ? `ORDER BY ${keys.map(quoteName).join(', ')}` : 'NOT INDEXED';
  const statement = database.prepare(`SELECT ${cells.join(', ')} FROM main.${quoteName(name)} ${order}`);
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  return statement.iterate() as unknown as Iterator<SQLOutputValue[]>;
}

function compareRow(
  { edits, decode }: Pair,
  { name, columns, keys }: TableLayout,
  before: readonly SQLOutputValue[],
  after: readonly SQLOutputValue[],
): number {
  let changed = 0;
  const row = (): string =>
    rowName(
      keys.map((_key, place) => cellAt(before, place)),
      decode,
    );
  for (let place = 0; place < keys.length + columns.length; place += 1) {
    const [left, right] = [cellAt(before, place), cellAt(after, place)];
    if (isSame(left, right)) continue;
    const column = columns[place - keys.length];
    if (column === undefined) throw differs(name, `the row ${row()} has another key`);
    const path = DOTTED_SYNTAX.field(DOTTED_SYNTAX.element(DOTTED_SYNTAX.field('', name), row()), column);
    const edit = edits.get(path);
    if (edit === undefined || !isEdited(edit, right, decode))
      throw differs(path, 'a value differs that no edit names');
    changed += 1;
  }
  return changed;
}

/** Whether a value is the target of an edit. The format of a nested file checks the result of a nested edit. */
function isEdited(edit: ValueEdit, { type, value }: Cell, decode: (bytes: Buffer) => string): boolean {
  if (isNested(edit)) return true;
  return (
    type === 'text' &&
    value instanceof Uint8Array &&
    readableOr(null, () => decode(Buffer.from(value))) === edit.target
  );
}

function cellAt(row: readonly SQLOutputValue[], place: number): Cell {
  return { type: row[2 * place] ?? null, value: row[2 * place + 1] ?? null };
}

function isSame(left: Cell, right: Cell): boolean {
  if (left.type !== right.type) return false;
  if (!(left.value instanceof Uint8Array)) return Object.is(left.value, right.value);
  return right.value instanceof Uint8Array && Buffer.from(left.value).equals(right.value);
}

function differs(path: string, message: string): PatchError {
  return new PatchError('round_trip_failed', path, message);
}
