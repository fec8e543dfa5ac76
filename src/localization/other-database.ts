import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { prepareChecked, type Statement } from '../engine/database/checked-rows.ts';
import type { TableRules } from '../engine/database/column-rules.ts';
import { DatabaseError, ForeignDatabaseError } from '../engine/database/database-error.ts';
import { versionOf, type Migration } from '../engine/database/migrate.ts';
import { describeStorageError, isDatabaseDamage } from '../engine/database/storage-failure.ts';
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
 * opened again when it has changed; one that failed only then, because the check of a large damaged file takes seconds.
 */
export class OtherFiles<Opened extends { close(): void }> {
  readonly #open: (path: string) => Opened;
  readonly #most: number;
  /** In the order of use. */
  readonly #files = new Map<string, { readonly stamp: string; readonly state: Opened | DatabaseError }>();

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
      if (!isDatabaseDamage(error)) throw error;
      opened.close();
      throw this.#keep(path, stampOf(path), databaseError(error));
    }
  }

  close(): void {
    for (const path of this.#files.keys()) this.#drop(path);
  }

  #opened(path: string): Opened {
    const stamp = stampOf(path);
    const known = this.#files.get(path);
    const isKnown = known?.stamp === stamp;
    if (!isKnown) this.#drop(path);
    const state = this.#keep(path, stamp, isKnown ? known.state : this.#tryToOpen(path));
    if (state instanceof DatabaseError) throw state;
    return state;
  }

  #tryToOpen(path: string): Opened | DatabaseError {
    try {
      return this.#open(path);
    } catch (error) {
      return databaseError(error);
    }
  }

  #keep<State extends Opened | DatabaseError>(path: string, stamp: string, state: State): State {
    this.#files.delete(path);
    this.#files.set(path, { stamp, state });
    const [oldest] = this.#files.keys();
    if (this.#files.size > this.#most && oldest !== undefined) this.#drop(oldest);
    return state;
  }

  #drop(path: string): void {
    const state = this.#files.get(path)?.state;
    this.#files.delete(path);
    if (state !== undefined && !(state instanceof DatabaseError)) state.close();
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
