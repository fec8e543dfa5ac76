import type { StatementSync } from 'node:sqlite';

/** What the release rooms need of the main database. */
export interface SqlDatabase {
  prepare(sql: string): StatementSync;
  /** Runs `section` in one write transaction (BEGIN IMMEDIATE); rolls back when it throws. */
  transaction<T>(section: () => T): T;
}

/** Rows read or written between two turns of the event loop. */
export const PAGE_ROWS = 1000;

/** Typed rows of a statement: the columns are those the statement names, so the type is the statement's contract. */
export function allRows<Row>(statement: StatementSync, parameters: Record<string, SqlValue>): readonly Row[] {
  return statement.all(parameters) as unknown as readonly Row[];
}

/** The first typed row of a statement, or `null`. */
export function oneRow<Row>(statement: StatementSync, parameters: Record<string, SqlValue>): Row | null {
  const row = statement.get(parameters);
  return row === undefined ? null : (row as unknown as Row);
}

/** What a statement can be given. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** Prepares every statement of a table of SQL texts. */
export function prepareAll<Name extends string>(
  database: SqlDatabase,
  sql: Readonly<Record<Name, string>>,
): Readonly<Record<Name, StatementSync>> {
  return Object.fromEntries(
    Object.entries<string>(sql).map(([name, text]) => [name, database.prepare(text)]),
  ) as Record<Name, StatementSync>;
}
