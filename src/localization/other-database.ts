import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { prepareChecked, type Statement } from '../engine/database/checked-rows.ts';
import type { TableRules } from '../engine/database/column-rules.ts';
import { DamagedRowError, DatabaseError, ForeignDatabaseError } from '../engine/database/database-error.ts';
import { versionOf, type Migration } from '../engine/database/migrate.ts';
import {
  describeStorageError,
  isDatabaseDamage,
  storageFailureOf,
} from '../engine/database/storage-failure.ts';
import { messageOf } from '../platform/errors.ts';
import { errorCode } from '../platform/files/error-code.ts';

export interface ReadableDatabase {
  prepare(sql: string): Statement;
  close(): void;
}

/** What a file must be to be read; `name` as in "the Glossary". */
interface DatabaseKind {
  readonly name: string;
  readonly applicationId: number;
  readonly migrations: readonly Migration[];
  readonly rules: TableRules;
}

const BUSY_TIMEOUT_MS = 5000;

/**
 * Opens a file beside the daemon's own one to read it. It must have the current schema, because nothing is written to it.
 *
 * @throws DatabaseError
 */
export function openOtherDatabase(path: string, kind: DatabaseKind): ReadableDatabase {
  let raw: DatabaseSync | null = null;
  try {
    const opened = new DatabaseSync(path, { readOnly: true, defensive: true, timeout: BUSY_TIMEOUT_MS });
    raw = opened;
    opened.exec('PRAGMA trusted_schema = OFF');
    checkOwner(opened, path, kind);
    return {
      prepare: (sql) => prepareChecked(opened, sql, { path, rules: kind.rules }),
      close: () => {
        opened.close();
      },
    };
  } catch (error) {
    raw?.close();
    if (error instanceof DatabaseError) throw error;
    throw new DatabaseError(`the ${kind.name} ${path} cannot be read: ${describeStorageError(error)}`, error);
  }
}

function checkOwner(
  raw: DatabaseSync,
  path: string,
  { name, applicationId, migrations }: DatabaseKind,
): void {
  const owner = raw.prepare('PRAGMA application_id').get()?.['application_id'];
  if (owner !== applicationId) throw new ForeignDatabaseError(`${path} is not a ${name} of Slipway`);
  const version = raw.prepare('PRAGMA user_version').get()?.['user_version'];
  const known = versionOf(migrations);
  if (version === known) return;
  throw new ForeignDatabaseError(
    `${path} has the schema ${String(version)}, and this daemon reads other files of schema ${known} only; open it once as the main file of a daemon of this version`,
  );
}

/**
 * Other files of one kind, opened with their first use. The one that was used longest ago is closed for a further one. A file is
 * opened again when it has changed, and after an error of its storage.
 */
export class OtherFiles<Opened extends { close(): void }> {
  readonly #open: (path: string) => Opened;
  readonly #most: number;
  /** In the order of use. */
  readonly #files = new Map<string, { readonly stamp: string; readonly opened: Opened }>();

  /** @param most files that are open together */
  constructor(open: (path: string) => Opened, most: number) {
    this.#open = open;
    this.#most = most;
  }

  /** @throws DatabaseError when the file cannot be read; the error of the work */
  use<T>(path: string, work: (opened: Opened) => T): T {
    const opened = this.#opened(path);
    try {
      return work(opened);
    } catch (error) {
      // Work that does not read a damaged row is still done.
      if (error instanceof DamagedRowError) throw error;
      if (storageFailureOf(error) !== null || isDatabaseDamage(error)) this.#drop(path);
      throw isDatabaseDamage(error) ? databaseError(error) : error;
    }
  }

  close(): void {
    for (const path of this.#files.keys()) this.#drop(path);
  }

  #opened(path: string): Opened {
    const stamp = stampOf(path);
    const known = this.#files.get(path);
    if (known?.stamp !== stamp) this.#drop(path);
    const opened = known?.stamp === stamp ? known.opened : this.#tryToOpen(path);
    this.#files.delete(path);
    this.#files.set(path, { stamp, opened });
    const [oldest] = this.#files.keys();
    if (this.#files.size > this.#most && oldest !== undefined) this.#drop(oldest);
    return opened;
  }

  #tryToOpen(path: string): Opened {
    try {
      return this.#open(path);
    } catch (error) {
      throw databaseError(error);
    }
  }

  #drop(path: string): void {
    const opened = this.#files.get(path)?.opened;
    this.#files.delete(path);
    opened?.close();
  }
}

function databaseError(error: unknown): DatabaseError {
  return error instanceof DatabaseError ? error : new DatabaseError(describeStorageError(error), error);
}

/** Changes with the bytes and the rights of a file. */
function stampOf(file: string): string {
  try {
    const { dev, ino, size, ctimeMs } = statSync(file);
    return [dev, ino, size, ctimeMs].join(':');
  } catch (error) {
    return errorCode(error) ?? messageOf(error);
  }
}
