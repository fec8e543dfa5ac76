import type { SQLOutputValue } from 'node:sqlite';

/** A database or data folder that cannot be used; the message says where and what to do. */
export class DatabaseError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'DatabaseError';
  }
}

/** The file is damaged: SQLite cannot read it, or a check of its structure found something. */
export class DatabaseDamagedError extends DatabaseError {
  readonly finding: string;

  constructor(path: string, finding: string, cause?: unknown) {
    super(`the database ${path} is damaged (${finding})`, cause);
    this.name = 'DatabaseDamagedError';
    this.finding = finding;
  }
}

/** A value in a row that the daemon cannot have written. */
interface DamagedValue {
  readonly table: string;
  readonly column: string;
  /** The primary key of the row, as far as the statement read it. */
  readonly key: Readonly<Record<string, SQLOutputValue>>;
  /** Names the values that the column may have. */
  readonly expected: string;
  readonly found: SQLOutputValue;
}

/** The structure of the file is sound, but a value in it is damaged. */
export class DamagedRowError extends DatabaseDamagedError {
  readonly value: DamagedValue;

  constructor(path: string, value: DamagedValue) {
    const { table, column, key, expected, found } = value;
    const row = Object.entries(key).map(([name, part]) => `${name} ${preview(part)}`);
    super(
      path,
      `column ${column} of table ${table} has ${preview(found)}, not ${expected}${row.length === 0 ? '' : `; row: ${row.join(', ')}`}`,
    );
    this.name = 'DamagedRowError';
    this.value = value;
  }
}

/** Characters of a value in a message. */
const PREVIEW_LENGTH = 80;

function preview(value: SQLOutputValue): string {
  if (value === null) return 'NULL';
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString('hex').slice(0, PREVIEW_LENGTH)}'`;
  if (typeof value === 'string') return JSON.stringify(value.slice(0, PREVIEW_LENGTH));
  return String(value);
}

/** The file was there before, and is missing or empty now. */
export class DatabaseLostError extends DatabaseError {
  constructor(message: string) {
    super(message);
    this.name = 'DatabaseLostError';
  }
}

/** The file is sound, but of another program or of a newer schema. */
export class ForeignDatabaseError extends DatabaseError {
  constructor(message: string) {
    super(message);
    this.name = 'ForeignDatabaseError';
  }
}
