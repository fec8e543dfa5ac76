import { isRecord } from '../../domain/is-record.ts';
import { isBlake3Hex, manifestDigestOf } from '../../domain/release/digest.ts';
import { RELEASE_ID_PATTERN } from '../../domain/release/release-id.ts';

/** What a column may hold. */
export interface ColumnRule {
  /** The declared type of the column. */
  readonly type: 'TEXT' | 'INTEGER' | 'REAL' | 'BLOB';
  readonly isNullable: boolean;
  /** Names the accepted values, for messages. */
  readonly expected: string;
  /** Whether a value other than NULL can be one that the daemon wrote. */
  readonly accepts: (value: unknown) => boolean;
  /** Why any value of the type has to be accepted; `null` for a rule that accepts only some. */
  readonly open: string | null;
  /** The part of {@link accepts} that SQLite checks when it writes, as it follows the name of the column. */
  readonly check?: string;
  /** Further constraints of the column in SQL. */
  readonly sql?: string;
}

/** The rules of all columns of a database, by table and column. */
export type TableRules = Readonly<Record<string, Readonly<Record<string, ColumnRule>>>>;

/** The last second of the year 9999. */
const LAST_SECOND = 253_402_300_799;

function rule(
  type: ColumnRule['type'],
  expected: string,
  accepts: ColumnRule['accepts'],
  open: string | null = null,
): ColumnRule {
  return { type, isNullable: false, expected, accepts, open };
}

/** A column that may also be NULL. */
export function nullable(of: ColumnRule): ColumnRule {
  return { ...of, isNullable: true, expected: `${of.expected} or NULL` };
}

/** A column with further constraints, such as `UNIQUE` or `DEFAULT 0`. */
export function withSql(of: ColumnRule, sql: string): ColumnRule {
  return { ...of, sql };
}

/**
 * Gives the statements that create the tables of a database. A table has a row id unless its primary key is other than one INTEGER.
 *
 * @returns takes the name of a table and its constraints; its key is among them unless a column has it
 */
export function createTablesOf<Tables extends TableRules>(
  tables: Tables,
): (name: keyof Tables & string, ...constraints: readonly string[]) => string {
  return (name, ...constraints) => createTableSql(name, tables[name] ?? {}, constraints);
}

function createTableSql(
  table: string,
  columns: Readonly<Record<string, ColumnRule>>,
  constraints: readonly string[],
): string {
  const lines = Object.entries(columns).map(([name, { type, isNullable, sql = '', check }]) =>
    [
      `"${name}" ${type}`,
      isNullable ? '' : 'NOT NULL',
      sql,
      check === undefined ? '' : `CHECK ("${name}" ${check})`,
    ]
      .filter((part) => part !== '')
      .join(' '),
  );
  const isKeyedWithoutRowId =
    constraints.some((constraint) => constraint.startsWith('PRIMARY KEY')) ||
    Object.values(columns).some(
      ({ type, sql }) => type !== 'INTEGER' && sql?.startsWith('PRIMARY KEY') === true,
    );
  return `CREATE TABLE ${table} (\n  ${[...lines, ...constraints].join(',\n  ')}\n) STRICT${isKeyedWithoutRowId ? ', WITHOUT ROWID' : ''};\n`;
}

/** Text for which a test decides. */
export function textWith(expected: string, test: (text: string) => boolean): ColumnRule {
  return rule('TEXT', expected, (value) => typeof value === 'string' && test(value));
}

/** One of some words. */
export function oneOf(words: readonly string[]): ColumnRule {
  const known = new Set(words);
  const check = `IN (${words.map((word) => `'${word}'`).join(', ')})`;
  return { ...textWith(`one of ${words.join(', ')}`, (text) => known.has(text)), check };
}

/** A whole number in a range that includes both ends. */
export function integer(least: number, most: number = Number.MAX_SAFE_INTEGER): ColumnRule {
  const expected = `a whole number from ${least} to ${most}`;
  return rule(
    'INTEGER',
    expected,
    (value) => Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most,
  );
}

/** Bytes, in one of some numbers. */
export function bytes(...lengths: readonly number[]): ColumnRule {
  const expected = `${lengths.join(' or ')} bytes`;
  return rule('BLOB', expected, (value) => value instanceof Uint8Array && lengths.includes(value.length));
}

/** Bytes for which a test decides. */
export function bytesWith(expected: string, test: (value: Uint8Array) => boolean): ColumnRule {
  return rule('BLOB', expected, (value) => value instanceof Uint8Array && test(value));
}

/** JSON for which a test decides. */
export function jsonWith(expected: string, test: (value: unknown) => boolean): ColumnRule {
  return textWith(expected, (text) => {
    try {
      return test(JSON.parse(text));
    } catch {
      return false;
    }
  });
}

/** Text of people or of other programs. Any text can be right. */
export const FREE_TEXT: ColumnRule = rule(
  'TEXT',
  'text',
  (value) => typeof value === 'string',
  'text of people or of other programs',
);

/** Text that is only compared with other text: another one makes the daemon do work again. */
export const COMPARED_TEXT: ColumnRule = rule(
  'TEXT',
  'text',
  (value) => typeof value === 'string',
  'only compared; another text makes the daemon do work again',
);

/** Bytes of other programs. Any bytes can be right. */
export const FREE_BYTES: ColumnRule = rule(
  'BLOB',
  'bytes',
  (value) => value instanceof Uint8Array,
  'bytes of other programs',
);

/** A number that a digest of a text gives. Any number can be right. */
export const HASHED_NUMBER: ColumnRule = rule(
  'INTEGER',
  'a whole number',
  (value) => Number.isSafeInteger(value),
  'a number made from a digest',
);

/** A number of 64 bits that other programs give. Any number can be right. */
export const FREE_INTEGER: ColumnRule = rule(
  'INTEGER',
  'a whole number',
  (value) => typeof value === 'bigint' || Number.isSafeInteger(value),
  'a number of people or of other programs',
);

/** A number of at least 0 that may have a fraction. */
export const DURATION: ColumnRule = rule(
  'REAL',
  'a number from 0',
  (value) => typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY,
);

/** A name that the daemon makes or checks: an id, a kind, a code, a language tag, which may be long. */
export const NAME: ColumnRule = textWith('printable ASCII without spaces', (text) => /^[!-~]+$/.test(text));
export const RELEASE_ID: ColumnRule = textWith('a release id', (text) => RELEASE_ID_PATTERN.test(text));
/** BLAKE3 or SHA-256. */
export const DIGEST: ColumnRule = textWith('64 lower-case hexadecimal digits', isBlake3Hex);
export const SNAPSHOT_ID: ColumnRule = textWith(
  'blake3: and 64 lower-case hexadecimal digits',
  (text) => manifestDigestOf(text) !== null,
);
/** The rules of a whole destination cost more than reading its row; the manifest of a release checks them. */
export const PATH: ColumnRule = textWith(
  'a relative path',
  // oxlint-disable-next-line no-control-regex
  (text) => /^[^/\\\u0000-\u001f][^\\\u0000-\u001f]*$/.test(text),
);
export const COUNT: ColumnRule = { ...integer(0), check: '>= 0' };
export const POSITIVE: ColumnRule = { ...integer(1), check: '>= 1' };
export const FLAG: ColumnRule = { ...integer(0, 1), check: 'IN (0, 1)' };
/** Unix seconds. */
export const SECONDS: ColumnRule = integer(0, LAST_SECOND);
/** Unix milliseconds. */
export const MILLISECONDS: ColumnRule = integer(0, LAST_SECOND * 1000);
export const JSON_OBJECT: ColumnRule = jsonWith('a JSON object', isRecord);
export const JSON_LIST: ColumnRule = jsonWith('a JSON list', Array.isArray);
export const JSON_TEXTS: ColumnRule = jsonWith(
  'a JSON list of texts',
  (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
);
