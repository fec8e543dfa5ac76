import { messageOf } from '../../../platform/errors.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import {
  DatabaseDamagedError,
  DatabaseError,
  DatabaseLostError,
  ForeignDatabaseError,
} from '../../database/database-error.ts';
import type { Database } from '../../database/sqlite-database.ts';
import { storageFailureOf } from '../../database/storage-failure.ts';
import { createWorkFile } from '../../database/work-file.ts';
import { openWorkDatabase } from './work-database.ts';

/** The open translation.db. It is opened with the first use. A file that cannot be used stays as it is, and a lost one is not made again. */
export interface WorkHolder<Work> {
  /** @throws Error that says why the file cannot be used and what to do, with the code {@link UNAVAILABLE} */
  use<T>(call: (work: Work, database: Database) => T): T;
  close(): void;
}

/** The code of the error of a translation.db that cannot be used. */
export const UNAVAILABLE = 'translation_unavailable';

const RESTORE =
  'stop the daemon, restore it from a backup with "slipway restore --database translation", and start the daemon again';

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
  const file = createWorkFile({
    path,
    content: 'the work on translations',
    open: () => {
      const database = openWorkDatabase(path);
      const close = (): void => {
        database.close();
      };
      try {
        return { work: assemble(database), database, close };
      } catch (error) {
        close();
        throw error;
      }
    },
    monotonic: () => clock.monotonic(),
  });
  return {
    use: (call) => {
      try {
        return file.use(({ work, database }) => call(work, database));
      } catch (error) {
        const isUnusable = error instanceof DatabaseError || storageFailureOf(error) !== null;
        throw isUnusable ? unavailable(path, error) : error;
      }
    },
    close: () => {
      file.close();
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
  if (error instanceof DatabaseLostError) return `to restore it, ${RESTORE}`;
  if (error instanceof ForeignDatabaseError) return 'the file is left as it is';
  return known?.advice ?? 'check the file and the folder of the databases';
}
