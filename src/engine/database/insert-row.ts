import type { SQLInputValue } from 'node:sqlite';
import type { Statement } from './checked-rows.ts';

/** The values of a row, by the names of its columns. */
export type NewRow = Readonly<Record<string, SQLInputValue>>;

/**
 * Inserts a row. Its values are bound by position: to bind 20 of them by name takes several times as long as to insert the row.
 *
 * @param database gives the compiled statement of a text
 * @param row its names are columns, named by the program and never by a request; the same ones in the same order at each call
 * @param onConflict the end of the statement, from `ON CONFLICT`
 * @returns its id
 */
export function insertRow(
  database: { readonly sql: (text: string) => Statement },
  table: string,
  row: NewRow,
  onConflict = '',
): number {
  const columns = Object.keys(row);
  const places = columns.map(() => '?').join(', ');
  const text = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places}) ${onConflict}`;
  return Number(database.sql(text).run(...Object.values(row)).lastInsertRowid);
}
