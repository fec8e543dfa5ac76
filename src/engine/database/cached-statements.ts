import type { Statement } from './checked-rows.ts';

/**
 * The statements of a database, each compiled with its first use. One text has one statement: do not run it again while its rows
 * are read one by one.
 */
export function cachedStatements(database: { prepare(sql: string): Statement }): (sql: string) => Statement {
  const statements = new Map<string, Statement>();
  return (sql) => {
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
}
