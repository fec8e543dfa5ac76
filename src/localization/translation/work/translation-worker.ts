import { randomBytes } from 'node:crypto';
import { messageOf } from '../../../platform/errors.ts';
import type { CallerOf } from '../../../platform/threads/caller.ts';
import { systemClock, unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import { createUlidFactory } from '../../../platform/process/ids.ts';
import {
  DatabaseDamagedError,
  DatabaseError,
  DatabaseLostError,
  ForeignDatabaseError,
} from '../../../engine/database/database-error.ts';
import { storageFailureOf } from '../../../engine/database/storage-failure.ts';
import { createWorkFile, methodsOf } from '../../../engine/database/work-file.ts';
import { openWorkDatabase } from './store/work-database.ts';
import { UNAVAILABLE } from './translation-failure.ts';
import { createTranslationWork, type TranslationWork } from './translation-work.ts';

/**
 * translation.db, as the thread that owns it serves it. It is opened with the first use. A file that cannot be used stays as it is, and a
 * lost one is not made again: every method then throws an Error with the code {@link UNAVAILABLE} that says what to do.
 */
export interface TranslationStore extends TranslationWork {
  /** Which value of translation.db is damaged and what to do; `null` while none was read. */
  damage(): string | null;
  close(): void;
}

/** The store as the rest of the program calls it. */
export type TranslationThread = CallerOf<TranslationStore>;

/** The file of the store and the language of its targets. */
export interface TranslationStoreData {
  readonly path: string;
  readonly targetLanguage: string;
  /** Default: that of the system. */
  readonly clock?: Clock;
}

const RESTORE =
  'stop the daemon, restore it from a backup with "slipway restore --database translation", and start the daemon again';

/** Makes the store; nothing is opened yet. */
export function createStore({
  path,
  targetLanguage,
  clock = systemClock,
}: TranslationStoreData): TranslationStore {
  const createId = createUlidFactory({ clock, randomBytes });
  const file = createWorkFile({
    path,
    content: 'the work on translations',
    open: () => {
      const database = openWorkDatabase(path);
      const close = (): void => {
        database.close();
      };
      try {
        const now = (): number => unixSeconds(clock);
        return { work: createTranslationWork(database, { targetLanguage, createId, now }), close };
      } catch (error) {
        close();
        throw error;
      }
    },
    monotonic: () => clock.monotonic(),
  });
  const use = <T>(call: (work: TranslationWork) => T): T => {
    try {
      return file.use(({ work }) => call(work));
    } catch (error) {
      const isUnusable = error instanceof DatabaseError || storageFailureOf(error) !== null;
      throw isUnusable ? unavailable(path, error) : error;
    }
  };
  return methodsOf(use, {
    damage: (): string | null => {
      const damaged = file.damage();
      return damaged === null ? null : unavailable(path, damaged).message;
    },
    close: (): void => {
      file.close();
    },
  });
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
