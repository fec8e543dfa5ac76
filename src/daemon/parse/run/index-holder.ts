import { findPlaceholders } from '../../../domain/text/placeholders.ts';
import { messageOf } from '../../../platform/errors.ts';
import { systemClock } from '../../../platform/process/clock.ts';
import { isDatabaseDamage, storageFailureOf } from '../../database/storage-failure.ts';
import { unitIdOf } from '../container/unit-emitter.ts';
import { removeIndexFiles } from '../index/index-database.ts';
import { openParseIndex, type ParseIndex } from '../index/parse-index.ts';

/** The open parse index. It is opened with the first use, and made again when SQLite finds damage in it. */
export interface IndexHolder {
  /** @throws Error with the code of a storage failure */
  read<T>(use: (index: ParseIndex) => T): T;
  /**
   * Runs work that starts from the beginning with an empty index when the index is damaged.
   *
   * @throws Error with the code of a storage failure; the error of the work
   */
  retryWhenDamaged<T>(work: (index: ParseIndex) => Promise<T>): Promise<T>;
  close(): void;
}

/** Creates the holder of the index at a path. */
export function createIndexHolder(path: string): IndexHolder {
  let opened: ParseIndex | null = null;
  const index = (): ParseIndex =>
    (opened ??= openParseIndex({ path, clock: systemClock, unitIdOf, placeholdersOf: findPlaceholders }));
  const close = (): void => {
    opened?.close();
    opened = null;
  };
  const discard = (): void => {
    close();
    removeIndexFiles(path);
  };
  return {
    read: (use) => {
      try {
        return use(index());
      } catch (error) {
        if (isDatabaseDamage(error)) discard();
        throw namedError(error);
      }
    },
    retryWhenDamaged: async (work) => {
      try {
        try {
          return await work(index());
        } catch (error) {
          if (!isDatabaseDamage(error)) throw error;
          discard();
          return await work(index());
        }
      } catch (error) {
        throw namedError(error);
      }
    },
    close,
  };
}

/** An error whose code survives the way to the other thread, with the advice for its failure. */
function namedError(error: unknown): unknown {
  const failure = storageFailureOf(error);
  if (failure === null) return error;
  return Object.assign(new Error(`${messageOf(error)}; ${failure.advice}`), { code: failure.code });
}
