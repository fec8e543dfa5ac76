import type { SQLInputValue, StatementSync } from 'node:sqlite';
import type { Database } from '../../database/sqlite-database.ts';

/** Rows of one transaction. */
const MAX_ROWS = 1000;

/** Collects writes and runs them in transactions of a bounded size. */
export interface RowBuffer {
  add(statement: StatementSync, ...values: SQLInputValue[]): void;
  /** Writes the collected rows that fill a transaction, and pauses after each. */
  drain(): Generator<void, void>;
  /** Writes all collected rows. */
  flush(): Generator<void, void>;
}

export function createRowBuffer(database: Database): RowBuffer {
  let rows: { readonly statement: StatementSync; readonly values: SQLInputValue[] }[] = [];
  function* write(least: number): Generator<void, void> {
    let start = 0;
    for (; rows.length - start >= least; start += MAX_ROWS) {
      const batch = rows.slice(start, start + MAX_ROWS);
      database.transaction(() => {
        for (const { statement, values } of batch) statement.run(...values);
      });
      yield;
    }
    rows = rows.slice(start);
  }
  return {
    add: (statement, ...values) => {
      rows.push({ statement, values });
    },
    drain: () => write(MAX_ROWS),
    flush: () => write(1),
  };
}
