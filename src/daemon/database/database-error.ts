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
