import type { SQLOutputValue } from 'node:sqlite';
import type { ReadLimits } from '../value-visitor.ts';
import { quoteName, type TableLayout } from './table-layout.ts';
import { FormatError } from '../format-error.ts';
import { bufferOf } from '../../platform/buffer-of.ts';

/** A value: its storage class (`integer`, `text`, ...) and, unless it was left out, the value. */
export interface Cell {
  readonly type: SQLOutputValue;
  readonly value: SQLOutputValue;
}

/**
 * The query for all rows of a table, in the order in which they are stored, which is that of their keys. `NOT INDEXED`
 * keeps SQLite from reading an index of the file instead, except in a table WITHOUT ROWID, where `ORDER BY` does. A row
 * has the cells of its key, then those of its columns.
 *
 * A text comes as the bytes of the file, because SQLite would replace invalid ones. Values beyond the limits, REAL
 * values outside of keys and BLOBs of other columns are not loaded.
 *
 * @param readsBlob for each column: whether its BLOBs are wanted
 */
export function rowQuery(
  { name, columns, rowId, keys }: TableLayout,
  readsBlob: readonly boolean[],
  { stringBytes, entryBytes }: ReadLimits,
): string {
  const keyCells = keys.map((key) => {
    if (rowId !== null) return `'integer', ${key}`;
    const column = quoteName(key);
    return `typeof(${column}), CASE WHEN octet_length(${column}) <= ${stringBytes} THEN
      CASE typeof(${column}) WHEN 'text' THEN CAST(${column} AS BLOB) ELSE ${column} END END`;
  });
  const cells = columns.map((name, place) => {
    const column = quoteName(name);
    const blob = `WHEN 'blob' THEN CASE WHEN octet_length(${column}) <= ${entryBytes} THEN ${column} END`;
    return `typeof(${column}), CASE typeof(${column}) WHEN 'integer' THEN ${column}
      WHEN 'text' THEN CASE WHEN octet_length(${column}) <= ${stringBytes} THEN CAST(${column} AS BLOB) END
      ${readsBlob[place] === true ? blob : ''} END`;
  });
  const order = rowId === null ? `ORDER BY ${keys.map(quoteName).join(', ')}` : 'NOT INDEXED';
  return `SELECT ${[...keyCells, ...cells].join(', ')} FROM main.${quoteName(name)} ${order}`;
}

export function cellsOf(row: readonly SQLOutputValue[]): Cell[] {
  return Array.from({ length: row.length / 2 }, (_, place) => ({
    type: row[2 * place] ?? null,
    value: row[2 * place + 1] ?? null,
  }));
}

/**
 * Names a row by the values of its key, as SQL literals joined by commas: `7`, `'scene-1','ja'`, `x'00ff'`. No two keys
 * of a table have the same name.
 *
 * @throws FormatError `field_too_large`, and what `decode` throws
 */
export function rowName(keys: readonly Cell[], decode: (bytes: Buffer) => string): string {
  return keys.map((key) => literal(key, decode)).join(',');
}

function literal({ type, value }: Cell, decode: (bytes: Buffer) => string): string {
  if (typeof value === 'bigint' || typeof value === 'number') return String(value);
  if (!(value instanceof Uint8Array))
    throw new FormatError('field_too_large', 'the key of a row is too long');
  const bytes = bufferOf(value);
  return type === 'text' ? `'${decode(bytes).replaceAll("'", "''")}'` : `x'${bytes.toString('hex')}'`;
}
