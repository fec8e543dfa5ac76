import { messageOf } from '../../../platform/errors.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { DatabaseDamagedError, ForeignDatabaseError } from '../../database/database-error.ts';
import type { Database } from '../../database/sqlite-database.ts';
import { storageFailureOf } from '../../database/storage-failure.ts';
import { openWorkDatabase } from './work-database.ts';

/** The open translation.db. It is opened with the first use. A file that cannot be used stays as it is. */
export interface WorkHolder<Work> {
  /** @throws Error that says why the file cannot be used and what to do, with the code {@link UNAVAILABLE} */
  use<T>(call: (work: Work, database: Database) => T): T;
  close(): void;
}

/** The code of the error of a translation.db that cannot be used. */
export const UNAVAILABLE = 'translation_unavailable';

/** Milliseconds before a file that could not be opened is opened again: a check of its structure reads all of it. */
const RETRY_MS = 10_000;
const RESTORE = 'stop the daemon, put the file of a backup in its place, and start it again';

/**
 * Creates the holder of the database at a path.
 *
 * @param assemble makes the work on an open database
 */
export function createWorkHolder<Work>(
  path: string,
  clock: Clock,
  assemble: (database: Database) => Work,
): WorkHolder<Work> {
  let opened: { readonly work: Work; readonly database: Database } | null = null;
  let failure: { readonly error: Error; readonly at: number } | null = null;
  const open = (): { readonly work: Work; readonly database: Database } => {
    if (opened !== null) return opened;
    if (failure !== null && clock.monotonic() - failure.at < RETRY_MS) throw failure.error;
    try {
      const database = openWorkDatabase(path);
      opened = { work: assemble(database), database };
      failure = null;
      return opened;
    } catch (error) {
      failure = { error: unavailable(path, error), at: clock.monotonic() };
      throw failure.error;
    }
  };
  return {
    use: (call) => {
      const { work, database } = open();
      try {
        return call(work, database);
      } catch (error) {
        throw storageFailureOf(error) === null ? error : unavailable(path, error);
      }
    },
    close: () => {
      opened?.database.close();
      opened = null;
    },
  };
}

function unavailable(path: string, error: unknown): Error {
  return Object.assign(new Error(`${messageOf(error)}; ${adviceFor(path, error)}`), { code: UNAVAILABLE });
}

function adviceFor(path: string, error: unknown): string {
  const known = storageFailureOf(error);
  const isDamaged = error instanceof DatabaseDamagedError || known?.code === 'data_damaged';
  if (isDamaged) return `${path} holds human work and is left as it is: ${RESTORE}`;
  if (error instanceof ForeignDatabaseError) return 'the file is left as it is';
  return known?.advice ?? 'check the file and the folder of the databases';
}
