import { copyFile } from 'node:fs/promises';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { ColumnRule, TableRules } from '../../src/engine/database/column-rules.ts';
import { DamagedRowError } from '../../src/engine/database/database-error.ts';
import type { Database } from '../../src/engine/database/sqlite-database.ts';

/** Values of the declared type that no rule may accept, unless it accepts all of them. */
const NONSENSE: Readonly<Record<ColumnRule['type'], SQLInputValue>> = {
  TEXT: '\u0001 nonsense {',
  INTEGER: Number.MIN_SAFE_INTEGER,
  REAL: -1.5,
  BLOB: new Uint8Array([0]),
};

const OTHER_TYPE: Readonly<Record<ColumnRule['type'], SQLInputValue>> = {
  TEXT: new Uint8Array([1]),
  INTEGER: 'text',
  REAL: 'text',
  BLOB: 'text',
};

/** A column as the schema of a file declares it. */
interface DeclaredColumn {
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
}

/** The columns of all tables that a schema declares; not those of the tables that SQLite keeps for a search index. */
export function declaredTables(path: string): ReadonlyMap<string, readonly DeclaredColumn[]> {
  const raw = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = raw
      .prepare(
        `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'`,
      )
      .all();
    return new Map(
      tables.map(({ name }) => {
        const columns = raw.prepare('SELECT * FROM pragma_table_info(?)').all(String(name));
        return [
          String(name),
          columns.map((column) => ({
            name: String(column['name']),
            type: String(column['type']),
            isNullable: column['notnull'] === 0 && column['pk'] === 0,
          })),
        ];
      }),
    );
  } finally {
    raw.close();
  }
}

/** The words that the conditions of a schema allow, by table and column. */
export function allowedWords(path: string): readonly {
  readonly table: string;
  readonly column: string;
  readonly words: readonly string[];
}[] {
  const raw = new DatabaseSync(path, { readOnly: true });
  try {
    return raw
      .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
      .all()
      .flatMap(({ name, sql }) =>
        [...String(sql).matchAll(/CHECK \("?(\w+)"? IN\s*\(([^)]*)\)/g)].map(
          ([, column = '', list = '']) => ({
            table: String(name),
            column,
            words: [...list.matchAll(/'([^']*)'/g)].map(([, word = '']) => word),
          }),
        ),
      );
  } finally {
    raw.close();
  }
}

/** The type and the nullability of each column, as the rules have them. */
export function ruledTables(rules: TableRules): ReadonlyMap<string, readonly DeclaredColumn[]> {
  return new Map(
    Object.entries(rules).map(([table, columns]) => [
      table,
      Object.entries(columns).map(([name, { type, isNullable }]) => ({ name, type, isNullable })),
    ]),
  );
}

/** One damaged value of one column. */
export interface DamageCase {
  readonly table: string;
  readonly column: string;
  readonly value: SQLInputValue;
}

/** All cases of the rules that a reader must refuse. */
export function damageCases(rules: TableRules): readonly DamageCase[] {
  return Object.entries(rules).flatMap(([table, columns]) =>
    Object.entries(columns).flatMap(([column, { type, isNullable, open }]) => [
      ...(open === null ? [{ table, column, value: NONSENSE[type] }] : []),
      { table, column, value: OTHER_TYPE[type] },
      ...(isNullable ? [] : [{ table, column, value: null }]),
    ]),
  );
}

/** The columns of which any value of the type is accepted, as "table.column" by the reason. */
export function openColumns(rules: TableRules): Readonly<Record<string, readonly string[]>> {
  const found: Record<string, string[]> = {};
  for (const [table, columns] of Object.entries(rules)) {
    for (const [column, { open }] of Object.entries(columns)) {
      if (open !== null) (found[open] ??= []).push(`${table}.${column}`);
    }
  }
  return found;
}

/**
 * Writes a row with one damaged value into a copy of an empty database whose tables have no types and no conditions, because SQLite would
 * refuse most of these values, and reads it with a statement of the daemon.
 *
 * @returns the errors of a reader of one row and of a reader of all rows
 */
export async function readDamaged(
  {
    path,
    copy,
    open,
  }: { readonly path: string; readonly copy: string; readonly open: (path: string) => Database },
  cases: readonly DamageCase[],
): Promise<readonly string[]> {
  await copyFile(path, copy);
  removeConditions(copy);
  const database = open(copy);
  const raw = new DatabaseSync(copy);
  const wrong: string[] = [];
  try {
    raw.exec('PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF');
    for (const { table, column, value } of cases) {
      raw.exec(`DELETE FROM "${table}"`);
      raw.prepare(`INSERT INTO "${table}" ("${column}") VALUES (?)`).run(value);
      const statement = database.prepare(`SELECT "${column}" AS alias FROM "${table}"`);
      const readers = {
        get: () => statement.get(),
        all: () => statement.all(),
        iterate: () => [...statement.iterate()],
      };
      for (const [reader, read] of Object.entries(readers)) {
        const found = errorOf(read);
        const isNamed =
          found instanceof DamagedRowError && found.value.table === table && found.value.column === column;
        if (!isNamed)
          wrong.push(
            `${reader} ${table}.${column} ${JSON.stringify(value)}: ${found instanceof Error ? found.message : 'accepted'}`,
          );
      }
      raw.exec(`DELETE FROM "${table}"`);
    }
  } finally {
    raw.close();
    database.close();
  }
  return wrong;
}

function errorOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

/** Declares each table again with the same names of columns and nothing else. */
function removeConditions(path: string): void {
  const raw = new DatabaseSync(path, { defensive: false });
  try {
    raw.exec(`PRAGMA foreign_keys = OFF`);
    for (const [table, columns] of declaredTables(path)) {
      raw.exec(`DROP TABLE "${table}"`);
      raw.exec(`CREATE TABLE "${table}" (${columns.map(({ name }) => `"${name}"`).join(', ')})`);
    }
  } finally {
    raw.close();
  }
}
