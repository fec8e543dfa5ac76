import type { StatementSync } from 'node:sqlite';
import type { Database } from '../../database/sqlite-database.ts';

/** Gives the prepared statement of an SQL text; the same text has the same statement. */
export type StatementCache = (sql: string) => StatementSync;

/** Creates an empty cache. Its texts are constants, so they are few. */
export function createStatementCache(database: Database): StatementCache {
  const statements = new Map<string, StatementSync>();
  return (sql) => {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = database.prepare(sql);
      statements.set(sql, statement);
    }
    return statement;
  };
}
