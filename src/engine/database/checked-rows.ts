import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { errorCode } from '../../platform/files/error-code.ts';
import type { ColumnRule, TableRules } from './column-rules.ts';
import { DamagedRowError } from './database-error.ts';

/** A row as node:sqlite gives it. */
export type SqlRow = Record<string, SQLOutputValue>;

/** The values that a statement is given: by position, or by name in one object. */
type SqlParameters =
  | readonly SQLInputValue[]
  | readonly [Readonly<Record<string, SQLInputValue>>, ...SQLInputValue[]];

/** A compiled statement that checks the rows it reads. */
export interface Statement {
  /** The first row. @throws DamagedRowError */
  get(...parameters: SqlParameters): SqlRow | undefined;
  /** @throws DamagedRowError */
  all(...parameters: SqlParameters): SqlRow[];
  /** The rows one by one; each step may throw a DamagedRowError. */
  iterate(...parameters: SqlParameters): IteratorObject<SqlRow>;
  run(...parameters: SqlParameters): ReturnType<StatementSync['run']>;
}

/** What is checked in the rows of one database. */
export interface RowChecks {
  readonly path: string;
  readonly rules: TableRules;
  /** Called with each damaged value before the error is thrown. */
  readonly onDamagedRow?: ((error: DamagedRowError) => void) | undefined;
}

/** A stored column. */
interface StoredColumn {
  readonly table: string;
  readonly column: string;
  readonly rule: ColumnRule;
}

/** A column of a result, and the stored column that it comes from. */
interface CheckedColumn extends StoredColumn {
  readonly name: string;
  readonly mayBeNull: boolean;
}

/**
 * An outer join, a subquery and a UNION can give NULL for a column that never holds it, and SQLite does not say for which.
 * Of a UNION it names the columns of one SELECT, so those of the others need rules that accept the same.
 */
const ADDS_NULLS = /\b(?:LEFT|RIGHT|FULL|UNION)\b|\(\s*SELECT\b/i;

const SQLITE_ERROR = 1;

/**
 * Compiles a statement. SQLite knows the stored column of each column of a result, so that every value that is not computed is
 * checked by the rule of its column, whatever the statement is (sqlite.org/c3ref/column_database_name.html).
 */
export function prepareChecked(raw: DatabaseSync, sql: string, checks: RowChecks): Statement {
  const statement = raw.prepare(sql);
  const columns = checkedColumns(statement, sql, checks.rules);
  const check = (row: SqlRow): SqlRow => {
    for (const { name, mayBeNull, rule, table, column } of columns) {
      const value = row[name] ?? null;
      if (value === null ? mayBeNull : rule.accepts(value)) continue;
      throw report(checks, damagedRow(raw, checks.path, { table, column, rule }, row, value));
    }
    return row;
  };
  const read = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw unreadable(raw, sql, checks, error);
    }
  };
  return {
    get: (...parameters) => {
      const row = read(() => statement.get(...(parameters as SQLInputValue[])));
      return row === undefined ? undefined : check(row);
    },
    all: (...parameters) => {
      const rows = read(() => statement.all(...(parameters as SQLInputValue[])));
      if (columns.length > 0) for (const row of rows) check(row);
      return rows;
    },
    iterate: (...parameters) =>
      eachChecked(statement.iterate(...(parameters as SQLInputValue[])), check, (error) =>
        unreadable(raw, sql, checks, error),
      ),
    run: (...parameters) => statement.run(...(parameters as SQLInputValue[])),
  };
}

function* eachChecked(
  rows: Iterable<SqlRow>,
  check: (row: SqlRow) => SqlRow,
  causeOf: (error: unknown) => unknown,
): Generator<SqlRow, undefined> {
  try {
    for (const row of rows) yield check(row);
  } catch (error) {
    throw causeOf(error);
  }
}

/** @throws TypeError for two columns of one name: a row as an object has only one of their values */
function checkedColumns(statement: StatementSync, sql: string, rules: TableRules): readonly CheckedColumn[] {
  const addsNulls = ADDS_NULLS.test(sql);
  const columns = statement.columns();
  const names = columns.map(({ name }) => name);
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) {
    throw new TypeError(`two columns of a result are called ${repeated}; give one another name: ${sql}`);
  }
  return columns.flatMap(({ name, table, column, database }): readonly CheckedColumn[] => {
    const found =
      table === null || column === null || database !== 'main' ? undefined : rules[table]?.[column];
    if (found === undefined || table === null || column === null) return [];
    return [{ name, table, column, rule: found, mayBeNull: found.isNullable || addsNulls }];
  });
}

/** The error of a damaged value, when the statement failed because of one; otherwise the error itself. */
function unreadable(raw: DatabaseSync, sql: string, checks: RowChecks, error: unknown): unknown {
  const isOfValue =
    errorCode(error) === 'ERR_OUT_OF_RANGE' ||
    (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_ERROR);
  if (!isOfValue) return error;
  for (const table of Object.keys(checks.rules)) {
    if (!new RegExp(`\\b${table}\\b`, 'i').test(sql)) continue;
    const [found] = damagedRows(raw, checks, table);
    if (found !== undefined) return report(checks, found.error);
  }
  return error;
}

/** A damaged row of a table. */
export interface DamagedRow {
  /** About the first value that breaks a rule. */
  readonly error: DamagedRowError;
  /** An SQL condition that finds the row by the bytes of its key, which may be no UTF-8. */
  readonly condition: string;
}

/** Finds the damaged rows of a table. */
export function* damagedRows(
  raw: DatabaseSync,
  { path, rules }: RowChecks,
  table: string,
): Generator<DamagedRow, void> {
  const conditions = keyColumns(raw, table).map((name) => {
    const key = `CAST("${name}" AS BLOB)`;
    return `'${key} IS ' || quote(${key})`;
  });
  const condition = ["'TRUE'", ...conditions].join(` || ' AND ' || `);
  const statement = raw.prepare(`SELECT *, ${condition} AS "row condition" FROM "${table}"`);
  statement.setReadBigInts(true);
  const columns = Object.entries(rules[table] ?? {});
  for (const row of statement.iterate()) {
    for (const [column, rule] of columns) {
      const value = numberWherePossible(row[column]);
      if (value === undefined || (value === null ? rule.isNullable : rule.accepts(value))) continue;
      const error = damagedRow(raw, path, { table, column, rule }, row, value);
      yield { error, condition: String(row['row condition']) };
      break;
    }
  }
}

function numberWherePossible(value: SQLOutputValue | undefined): SQLOutputValue | undefined {
  return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function report(checks: RowChecks, error: DamagedRowError): DamagedRowError {
  checks.onDamagedRow?.(error);
  return error;
}

function damagedRow(
  raw: DatabaseSync,
  path: string,
  { table, column, rule }: StoredColumn,
  row: SqlRow,
  value: SQLOutputValue,
): DamagedRowError {
  const keys = keyColumns(raw, table).filter((name) => row[name] !== undefined);
  const key = Object.fromEntries(keys.map((name) => [name, row[name] ?? null]));
  return new DamagedRowError(path, { table, column, key, expected: rule.expected, found: value });
}

/** The columns of the primary key. */
function keyColumns(raw: DatabaseSync, table: string): readonly string[] {
  return raw
    .prepare(`SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk`)
    .all(table)
    .map(({ name }) => String(name));
}
