import type { Statement } from '../../../../engine/database/checked-rows.ts';
import type { Database, ReadSnapshot } from '../../../../engine/database/sqlite-database.ts';

/** The work on translations in one target language, or a snapshot of it. */
export interface WorkReader {
  readonly targetLanguage: string;
  /**
   * The statement of an SQL text, which is compiled with its first use. One text has one statement: do not run it again while its
   * rows are read one by one.
   */
  readonly sql: (text: string) => Statement;
}

/** The open database of the work in one target language, and the state that ends with the process. */
export interface Work extends WorkReader {
  readonly database: Database;
  /** Makes a ULID; later ones are greater. */
  readonly createId: () => string;
  /** Unix seconds. */
  readonly now: () => number;
  /** Lease tokens of earlier processes are smaller. */
  readonly firstToken: string;
  /** Tasks whose status must be written at the end of the transaction. */
  readonly touched: Set<number>;
  /** Open units that got the target of an equal unit since the last build, by task. */
  readonly copied: Map<number, number>;
  /** Tasks with a row that cannot be used, by the review of a file. */
  readonly refusedTasks: Map<string, Set<number>>;
  /** The kept moment, and the number of the last one. */
  readonly frozen: { last: number; moment: Moment | null };
}

interface Moment {
  readonly number: number;
  readonly reader: WorkReader;
  readonly snapshot: ReadSnapshot;
}

/** The settings of the work. */
export interface WorkOptions {
  readonly targetLanguage: string;
  /** Makes a ULID; later ones are greater. */
  readonly createId: () => string;
  /** Unix seconds. */
  readonly now: () => number;
}

/** Begins the work in an open database. */
export function openWork(database: Database, options: WorkOptions): Work {
  return {
    ...options,
    ...readerOf(database, options.targetLanguage),
    database,
    firstToken: options.createId(),
    touched: new Set(),
    copied: new Map(),
    refusedTasks: new Map(),
    frozen: { last: 0, moment: null },
  };
}

/** Reads a database or a snapshot of it. */
export function readerOf(database: ReadSnapshot, targetLanguage: string): WorkReader {
  const statements = new Map<string, Statement>();
  return {
    targetLanguage,
    sql: (text) => {
      const statement = statements.get(text) ?? database.prepare(text);
      statements.set(text, statement);
      return statement;
    },
  };
}
