import type { Statement } from '../../engine/database/checked-rows.ts';

export interface SqlDatabase {
  prepare(sql: string): Statement;
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
 * The typed rows of a statement, whose values it has checked. The caller names the row type; it must match the columns that the
 * statement selects.
 */
export function allRows<Row>(statement: Statement, parameters: Record<string, SqlValue>): readonly Row[] {
  return statement.all(parameters) as unknown as readonly Row[];
}

export function oneRow<Row>(statement: Statement, parameters: Record<string, SqlValue>): Row | null {
  const row = statement.get(parameters);
  return row === undefined ? null : (row as unknown as Row);
}

export type SqlValue = string | number | bigint | null | Uint8Array;

export function prepareAll<Name extends string>(
  database: SqlDatabase,
  sql: Readonly<Record<Name, string>>,
): Readonly<Record<Name, Statement>> {
  return Object.fromEntries(
    Object.entries<string>(sql).map(([name, text]) => [name, database.prepare(text)]),
  ) as Record<Name, Statement>;
}
