import type { SQLInputValue } from 'node:sqlite';
import type { Database } from './sqlite-database.ts';

/** The values of a row, by the names of its columns. */
export type NewRow = Readonly<Record<string, SQLInputValue>>;

/**
 * Compiles the statement that inserts a row. Its values are bound by position: to bind 20 of them by name takes several
 * times as long as to insert the row.
 *
 * @param columns all that are written; names of the program, never of a request
 * @param onConflict the end of the statement, from `ON CONFLICT`; default none
 * @returns a function that writes a row and gives its id; it throws a TypeError for a row with other columns
 */
export function prepareInsert(
  database: Database,
  table: string,
  columns: readonly string[],
  onConflict = '',
): (row: NewRow) => number {
  const places = columns.map(() => '?').join(', ');
  const statement = database.prepare(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places}) ${onConflict}`,
  );
  return (row) => {
    const values = columns.map((column) => {
      const value = row[column];
      if (value === undefined) throw new TypeError(`a row of ${table} has no value for ${column}`);
      return value;
    });
    if (Object.keys(row).length !== columns.length) {
      throw new TypeError(`a row of ${table} has other columns than ${columns.join(', ')}`);
    }
    return Number(statement.run(...values).lastInsertRowid);
  };
}
