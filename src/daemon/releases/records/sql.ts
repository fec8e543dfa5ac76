import type { StatementSync } from 'node:sqlite';

/** The part of the main database that the release code uses. */
export interface SqlDatabase {
  prepare(sql: string): StatementSync;
  /**
   * Runs `section` in one write transaction (BEGIN IMMEDIATE); rolls back when it throws.
   *
   * @param options `durable: false` lets a power failure undo it, until the next durable one
   */
  transaction<T>(section: () => T, options?: { readonly durable?: boolean }): T;
}

/** Rows read or written between two turns of the event loop. */
export const PAGE_ROWS = 1000;

/**
 * The typed rows of a statement. The caller names the row type; it must match the columns that the statement selects.
 */
export function allRows<Row>(statement: StatementSync, parameters: Record<string, SqlValue>): readonly Row[] {
  return statement.all(parameters) as unknown as readonly Row[];
}

/** The first typed row of a statement, or `null`. */
export function oneRow<Row>(statement: StatementSync, parameters: Record<string, SqlValue>): Row | null {
  const row = statement.get(parameters);
  return row === undefined ? null : (row as unknown as Row);
}

/** A value that can be bound to a parameter of a statement. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** Prepares every statement in a table of SQL texts. */
export function prepareAll<Name extends string>(
  database: SqlDatabase,
  sql: Readonly<Record<Name, string>>,
): Readonly<Record<Name, StatementSync>> {
  return Object.fromEntries(
    Object.entries<string>(sql).map(([name, text]) => [name, database.prepare(text)]),
  ) as Record<Name, StatementSync>;
}
