import { statSync } from 'node:fs';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { createDigestSet } from '../../platform/hashing/digest-set.ts';
import { blake3OfText } from '../../platform/hashing/text-blake3.ts';
import { createStringCodec, UTF8_CODEC } from '../codecs/string-codec.ts';
import { exactInteger, type ReadLimits, type ReportPartError, type ValueVisitor } from '../value-visitor.ts';
import { FormatError } from '../format-error.ts';
import { openUntrusted, sqliteError } from './open-untrusted.ts';
import { rowName, cellsOf, rowQuery, type Cell } from './row-query.ts';
import {
  columnKey,
  listTables,
  readLayout,
  relatedColumns,
  tablesWithTriggers,
  type SkippedKind,
  type TableLayout,
} from './table-layout.ts';
import { bufferOf } from '../../platform/buffer-of.ts';

export interface SqliteOptions {
  readonly limits: ReadLimits;
  /** Receives tables that cannot be read to their end, and values that cannot be read. */
  readonly reportPartError: ReportPartError;
  /** Receives the parts that are skipped, because reading it would run code of the file. */
  readonly onSkipped?: (name: string, kind: SkippedKind) => void;
  /**
   * Chooses the columns whose BLOBs are visited as `bytes()`; the BLOBs of all others are not loaded. It runs once for
   * each column.
   */
  readonly readsBlob?: (table: string, column: string) => boolean;
  /**
   * Tells what cannot be replaced: a table with triggers is a part error `not_writable`, and a text of a key or of a foreign key
   * is handed over here and visited as a label.
   */
  readonly onKeyText?: (text: string) => void;
  /** Receives, directly before each `text()` and `bytes()`, the address of the value, for write-back. */
  readonly onCell?: (address: CellAddress) => void;
}

export interface CellAddress {
  readonly layout: TableLayout;
  readonly column: string;
  /** The values of the columns that address the row, in the order of `layout.keys`; texts are bytes. */
  readonly keys: readonly Cell[];
}

interface Walk {
  readonly database: DatabaseSync;
  readonly visitor: ValueVisitor;
  readonly options: SqliteOptions;
  readonly decode: (bytes: Buffer) => string;
  /** Columns of foreign keys; see {@link SqliteOptions.onKeyText}. */
  readonly related: ReadonlySet<string>;
  /** Bytes of texts and BLOBs that may still be read. */
  budget: number;
}

/**
 * Visits the ordinary tables of a SQLite file in the order of their creation: an object with a field for each table,
 * which is an array of rows. Rows come in the order of their keys, one at a time.
 *
 * - The name of a row is its row id. In a table WITHOUT ROWID it is the primary key, as SQL literals joined by commas:
 *   `7`, `'scene-1','ja'`, `x'00ff'`.
 * - Texts and BLOBs have no position in the file (0 and 0): write-back addresses them by table, key and column.
 * - NULL, REAL, BLOBs of columns that are not chosen, and generated columns are left out.
 * - Views and virtual tables with their shadow tables are skipped and reported.
 *
 * @param path a file that does not change meanwhile; no side files are created
 * @throws FormatError `sqlite_invalid` for a file that is not a database or has a damaged schema,
 *   `container_limit_exceeded`, `file_unreadable`, `memory_exceeded`
 */
export function visitSqlite(path: string, visitor: ValueVisitor, options: SqliteOptions): void {
  const database = attempt(() => openUntrusted(path));
  try {
    const [names, encoding] = attempt(() => {
      if (pragma(database, 'page_count') === 0) throw new FormatError('sqlite_invalid', 'the file is empty');
      return [listTables(database), String(pragma(database, 'encoding'))] as const;
    });
    const budget = options.limits.ratio * statSync(path).size;
    const [refused, related] =
      options.onKeyText === undefined
        ? [new Set<string>(), new Set<string>()]
        : attempt(() => [tablesWithTriggers(database), relatedColumns(database)] as const);
    const walk: Walk = { database, visitor, options, decode: textDecoder(encoding), related, budget };
    for (const { name, kind } of names.skipped) options.onSkipped?.(name, kind);
    visitor.beginObject();
    for (const name of names.tables) {
      if (!refused.has(name.toLowerCase())) visitTable(walk, name);
      else options.reportPartError(new FormatError('not_writable', 'the table has triggers'), name);
    }
    visitor.endObject();
  } finally {
    database.close();
  }
}

function visitTable(walk: Walk, name: string): void {
  const { visitor, options } = walk;
  const opened = attemptPart(walk, name, () => {
    const layout = readLayout(walk.database, name);
    const readsBlob = layout.columns.map((column) => options.readsBlob?.(name, column) === true);
    const statement = walk.database.prepare(rowQuery(layout, readsBlob, options.limits));
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    return { layout, readsBlob, rows: statement.iterate() as Iterator<unknown> };
  });
  if (opened === null) return;
  const { layout, readsBlob, rows } = opened;
  const isNext = createKeyCheck(layout);
  visitor.field(name);
  visitor.beginArray();
  try {
    for (let count = 0; ; count += 1) {
      const row = attemptPart(walk, name, () => rows.next());
      if (row === null || row.done === true) break;
      if (count === options.limits.elements) {
        const message = `the table has more than ${options.limits.elements} rows`;
        options.reportPartError(new FormatError('container_limit_exceeded', message), name);
        break;
      }
      const cells = cellsOf(row.value as SQLOutputValue[]);
      spend(walk, cells);
      const key = attemptPart(walk, name, () => rowName(cells.slice(0, layout.keys.length), walk.decode));
      if (key === null) continue;
      if (!isNext(cells[0], key)) {
        options.reportPartError(
          new FormatError('sqlite_invalid', `the row ${key} does not follow the previous one`),
          name,
        );
        break;
      }
      visitRow(walk, layout, readsBlob, key, cells);
    }
  } finally {
    rows.return?.();
  }
  visitor.endArray();
}

/**
 * Tells rows that a damaged file repeats: pages of a table can be shared or form a cycle. Row ids have to rise; the order of
 * other keys depends on the table, so each of them may occur once.
 */
function createKeyCheck({ rowId }: TableLayout): (first: Cell | undefined, name: string) => boolean {
  if (rowId === null) {
    const seen = createDigestSet();
    return (_first, name) => seen.add(blake3OfText(name));
  }
  let last: bigint | null = null;
  return (first) => {
    const value = first?.value;
    if (typeof value !== 'bigint' || (last !== null && value <= last)) return false;
    last = value;
    return true;
  };
}

function visitRow(
  walk: Walk,
  layout: TableLayout,
  readsBlob: readonly boolean[],
  name: string,
  cells: readonly Cell[],
): void {
  const { visitor } = walk;
  const { name: table, columns, keys } = layout;
  const rowKeys = cells.slice(0, keys.length);
  visitor.element(name);
  visitor.beginObject();
  for (const [place, column] of columns.entries()) {
    const cell = cells[keys.length + place];
    if (cell === undefined || cell.type === 'null' || cell.type === 'real') continue;
    if (cell.type === 'blob' && readsBlob[place] !== true) continue;
    visitor.field(column);
    visitCell(walk, cell, `${table}[${name}].${column}`, { layout, column, keys: rowKeys });
  }
  visitor.endObject();
}

function visitCell(walk: Walk, { type, value }: Cell, path: string, address: CellAddress): void {
  const { visitor, options } = walk;
  if (typeof value === 'bigint') {
    visitor.integer(exactInteger(value));
    return;
  }
  const bytes = attemptPart(walk, path, () => bytesOf(walk, type, value));
  if (bytes === null) {
    visitor.other();
  } else if (type === 'blob') {
    options.onCell?.(address);
    visitor.bytes(bytes, 0, 0);
  } else {
    const text = attemptPart(walk, path, () => walk.decode(bytes));
    if (text === null) {
      visitor.other();
    } else if (options.onKeyText !== undefined && isKey(walk, address)) {
      options.onKeyText(text);
      visitor.label(text);
    } else {
      options.onCell?.(address);
      visitor.text(text, 0, 0);
    }
  }
}

function isKey({ related }: Walk, { layout, column }: CellAddress): boolean {
  return layout.keys.includes(column) || related.has(columnKey(layout.name, column));
}

/** The bytes of a text or BLOB, which the query leaves out beyond the limit. */
function bytesOf(walk: Walk, type: Cell['type'], value: Cell['value']): Buffer {
  const { limits } = walk.options;
  if (!(value instanceof Uint8Array)) {
    throw type === 'blob'
      ? new FormatError('container_limit_exceeded', `a BLOB is longer than ${limits.entryBytes} bytes`)
      : new FormatError('field_too_large', `a text is longer than ${limits.stringBytes} bytes`);
  }
  return bufferOf(value);
}

/** Pages can be shared in a damaged file, so the sum of all values has a bound too. */
function spend(walk: Walk, cells: readonly Cell[]): void {
  for (const { value } of cells) walk.budget -= value instanceof Uint8Array ? value.length : 1;
  if (walk.budget >= 0) return;
  const message = `the values are more than ${walk.options.limits.ratio} times as large as the file`;
  throw new FormatError('container_limit_exceeded', message);
}

/** Decodes texts of a database with this encoding (`PRAGMA encoding`). */
export function textDecoder(encoding: string): (bytes: Buffer) => string {
  const utf16 = createStringCodec('utf16le', new Map());
  switch (encoding) {
    case 'UTF-8':
      return (bytes) => UTF8_CODEC.decode(bytes);
    case 'UTF-16le':
      return (bytes) => utf16.decode(bytes);
    default:
      return (bytes) => utf16.decode(bytes.length % 2 === 0 ? Buffer.from(bytes).swap16() : bytes);
  }
}

function pragma(database: DatabaseSync, name: string): unknown {
  return Object.values(database.prepare(`PRAGMA main.${name}`).get() ?? {})[0];
}

function attempt<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    throw sqliteError(error);
  }
}

/** Runs a step whose error costs only one part. @returns `null` after an error, which is reported */
function attemptPart<Result>({ options }: Walk, path: string, run: () => Result): Result | null {
  try {
    return run();
  } catch (error) {
    const problem = sqliteError(error);
    if (!(problem instanceof FormatError)) throw problem;
    options.reportPartError(problem, path);
    return null;
  }
}
