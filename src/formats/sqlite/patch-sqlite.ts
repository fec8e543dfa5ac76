import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { DOTTED_SYNTAX } from '../collect/path-syntax.ts';
import { FormatError } from '../format-error.ts';
import { checkLength, PatchError } from '../patch/patch-error.ts';
import { findPlaces, isNested, type EditPlace, type ValueEdit } from '../patch/find-places.ts';
import { numberedVisitor, READ_LIMITS, type ReadLimits } from '../value-visitor.ts';
import { prepareHeader, restoreHeader } from './file-header.ts';
import { openUntrustedCopy, sqliteError } from './open-untrusted.ts';
import type { Cell } from './row-query.ts';
import { columnKey, quoteName, relatedColumns, tablesWithTriggers } from './table-layout.ts';
import { textDecoder, visitSqlite, type CellAddress } from './visit-sqlite.ts';

interface CellEdit {
  readonly place: EditPlace;
  readonly address: CellAddress;
}

/** SQLite's primary code for a constraint that a change breaks. */
const CONSTRAINT = 19;
/** SQLite's primary code for what the authorizer denies. */
const DENIED = 23;

/**
 * Replaces texts of a database, and files inside of its BLOBs, row by row. The same file and the same edits give the same
 * bytes with the same version of SQLite.
 *
 * @param path a private copy, which is changed in its place; it is worthless after an error
 * @throws PatchError, also `not_writable` for a table with triggers, a column of a key, and a change that a constraint of
 *   the database forbids; FormatError when the database is damaged or cannot be read
 */
export function patchSqlite(
  path: string,
  edits: readonly ValueEdit[],
  limits: ReadLimits = READ_LIMITS,
): void {
  if (edits.length === 0) return;
  const cells = locate(path, edits, limits);
  for (const cell of cells) checkTarget(cell, limits);
  const header = prepareHeader(path);
  const columns = new Set(cells.map(({ address }) => columnKey(address.layout.name, address.column)));
  try {
    const database = openUntrustedCopy(path, (table, column) => columns.has(columnKey(table, column)));
    try {
      checkIntegrity(database);
      checkSchema(database, cells);
      const rows = createRowWriter(database);
      database.exec('BEGIN IMMEDIATE');
      for (const cell of cells) rows.update(cell);
      database.exec('COMMIT');
      for (const cell of cells) checkWritten(cell, rows.read(cell));
    } finally {
      database.close();
    }
  } catch (error) {
    throw sqliteError(error);
  }
  restoreHeader(path, header);
}

function locate(path: string, edits: readonly ValueEdit[], limits: ReadLimits): readonly CellEdit[] {
  const nested = edits.filter(isNested);
  const sources = new Set(edits.flatMap((edit) => (isNested(edit) ? [] : [edit.source])));
  const addresses: CellAddress[] = [];
  const places = findPlaces(edits, DOTTED_SYNTAX, (visitor) => {
    let last: CellAddress | null = null;
    const numbered = numberedVisitor(visitor, (value) => {
      if (last === null) throw new Error('a value has no address');
      const isWanted = typeof value !== 'string' || nested.length > 0 || sources.has(value);
      return isWanted ? addresses.push(last) - 1 : -1;
    });
    visitSqlite(path, numbered, {
      limits,
      reportPartError: () => undefined,
      readsBlob: (_table, column) =>
        nested.some(({ fieldPath }) => fieldPath.endsWith(DOTTED_SYNTAX.field('', column))),
      onCell: (address) => {
        last = address;
      },
    });
  });
  return places.map((place) => {
    const address = addresses[place.start];
    if (address === undefined) throw new Error('a place has no address');
    return { place, address };
  });
}

function checkTarget({ place: { edit, target } }: CellEdit, limits: ReadLimits): void {
  if (typeof target !== 'string') return;
  checkLength(edit.fieldPath, target, limits.stringBytes);
  // Most programs read a text of SQLite as one that ends at the first NUL.
  if (!target.includes('\0')) return;
  throw new PatchError('character_not_allowed', edit.fieldPath, 'the target text has a NUL');
}

/** Refuses changes that would change something else too: by a trigger, or because other rows refer to the value. */
function checkSchema(database: DatabaseSync, cells: readonly CellEdit[]): void {
  const triggers = tablesWithTriggers(database);
  const related = relatedColumns(database);
  for (const { place, address } of cells) {
    const { layout, column } = address;
    const refuse = (message: string): never => {
      throw new PatchError('not_writable', place.edit.fieldPath, message);
    };
    if (triggers.has(layout.name.toLowerCase())) refuse(`the table ${quoteName(layout.name)} has triggers`);
    if (layout.keys.includes(column)) refuse('the text is part of the key of its row');
    if (related.has(columnKey(layout.name, column))) refuse('the column is part of a foreign key');
  }
}

/** A damaged database can use a page twice, so that a change of one row changes another one. */
function checkIntegrity(database: DatabaseSync): void {
  const [finding] = Object.values(database.prepare('PRAGMA main.integrity_check(1)').get() ?? {});
  if (finding === 'ok') return;
  throw new FormatError('sqlite_invalid', `the database is damaged: ${String(finding).slice(0, 200)}`);
}

function createRowWriter(database: DatabaseSync): {
  update(cell: CellEdit): void;
  read(cell: CellEdit): unknown;
} {
  const encoding = String(Object.values(database.prepare('PRAGMA main.encoding').get() ?? {})[0]);
  const decode = textDecoder(encoding);
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string): StatementSync => {
    const statement = statements.get(sql) ?? database.prepare(sql);
    // A column can have made a large integer of a text.
    statement.setReadBigInts(true);
    statements.set(sql, statement);
    return statement;
  };
  const keysOf = ({ keys }: CellAddress): SQLInputValue[] => keys.map((cell) => keyValue(cell, decode));
  return {
    update: ({ place, address }) => {
      const column = quoteName(address.column);
      const sql = `UPDATE ${tableOf(address)} SET ${column} = ? WHERE ${keyCondition(address)}`;
      const changes = attempt(place, () => prepare(sql).run(place.target, ...keysOf(address)).changes);
      if (changes === 1n) return;
      throw new PatchError(
        'place_not_found',
        place.edit.fieldPath,
        `the key of the row finds ${changes} rows`,
      );
    },
    read: ({ address }) => {
      const column = quoteName(address.column);
      const sql = `SELECT ${column} AS value FROM ${tableOf(address)} WHERE ${keyCondition(address)}`;
      return prepare(sql).get(...keysOf(address))?.['value'];
    },
  };
}

function tableOf({ layout }: CellAddress): string {
  return `main.${quoteName(layout.name)}`;
}

function keyCondition({ layout }: CellAddress): string {
  const names = layout.rowId === null ? layout.keys.map(quoteName) : layout.keys;
  return names.map((name) => `${name} = ?`).join(' AND ');
}

/** A column can convert a value that is stored into it. */
function checkWritten({ place: { target, edit } }: CellEdit, value: unknown): void {
  const isSame =
    typeof target === 'string'
      ? value === target
      : value instanceof Uint8Array && Buffer.from(target).equals(value);
  if (isSame) return;
  throw new PatchError(
    'round_trip_failed',
    edit.fieldPath,
    'the column does not keep the target text as it is',
  );
}

function keyValue({ type, value }: Cell, decode: (bytes: Buffer) => string): SQLInputValue {
  return type === 'text' && value instanceof Uint8Array ? decode(Buffer.from(value)) : value;
}

/** Explains the errors of a change that do not come from damage. */
function attempt<Result>({ edit }: EditPlace, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;
    if (!(error instanceof Error) || (code !== CONSTRAINT && code !== DENIED)) throw error;
    throw new PatchError(
      'not_writable',
      edit.fieldPath,
      `the database does not allow the change: ${error.message}`,
    );
  }
}
