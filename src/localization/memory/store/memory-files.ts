import { realpathSync, statSync } from 'node:fs';
import { findBelowRootSync } from '../../../platform/files/below-root.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import { messageOf } from '../../../platform/errors.ts';
import { systemClock, type Clock } from '../../../platform/process/clock.ts';
import { DatabaseError } from '../../../engine/database/database-error.ts';
import {
  describeStorageError,
  isDatabaseDamage,
  storageFailureOf,
} from '../../../engine/database/storage-failure.ts';
import { createWorkFile } from '../../../engine/database/work-file.ts';
import type { ReadableDatabase } from '../../other-database.ts';
import { openMainMemory, openOtherMemory } from './memory-database.ts';
import { MemoryFileError } from './memory-file-error.ts';
import {
  createReadableStore,
  createWritableStore,
  type ReadableStore,
  type WritableStore,
} from './memory-store.ts';

/** Where the files of the Translation Memory are. */
export interface MemoryPaths {
  readonly main: string;
  readonly root: string;
}

/** The open files. A file is opened with its first use. */
export interface MemoryFiles {
  /**
   * Uses a file to read.
   *
   * @param path relative to the root; `null` for the main file
   * @throws MemoryFileError
   */
  read<T>(path: string | null, use: (store: ReadableStore) => T): T;
  /**
   * Uses the main file to write.
   *
   * @param path must be `null` or lead to the main file
   * @throws MemoryFileError
   */
  write<T>(path: string | null, use: (store: WritableStore) => T): T;
  /** Which value of the main file is damaged; `null` while none was read. */
  damage(): string | null;
  close(): void;
}

/** Most other files that are open together; the one that was used longest ago is closed for a further one. */
const MOST_OTHER_FILES = 4;

/** Creates the holder of the files; nothing is opened yet. */
export function createMemoryFiles(paths: MemoryPaths, clock: Clock = systemClock): MemoryFiles {
  const main = createMainHolder(paths.main, clock);
  const others = new Map<string, Holder<ReadableStore>>();

  const other = (file: string): Holder<ReadableStore> => {
    const known = others.get(file);
    const holder =
      known ??
      createHolder(file, (): Held<ReadableStore> => {
        const database = openOtherMemory(file);
        return { database, store: createReadableStore(database) };
      });
    // The order of the map is the order of use.
    others.delete(file);
    others.set(file, holder);
    const [oldest] = others;
    if (others.size > MOST_OTHER_FILES && oldest !== undefined) {
      oldest[1].close();
      others.delete(oldest[0]);
    }
    return holder;
  };

  return {
    read: (path, use) => {
      const file = fileOf(paths, path);
      return file === paths.main ? main.use(use) : other(file).use(use);
    },
    write: (path, use) => {
      if (fileOf(paths, path) === paths.main) return main.use(use);
      throw new MemoryFileError(
        'invalid_path',
        `${path ?? ''} is not the Translation Memory of this daemon and can only be read; leave translation_memory_path out to change that one`,
      );
    },
    damage: () => main.damage(),
    close: () => {
      for (const holder of [main, ...others.values()]) holder.close();
      others.clear();
    },
  };
}

interface Held<S> {
  readonly database: ReadableDatabase;
  readonly store: S;
}

interface Holder<S> {
  use<T>(use: (store: S) => T): T;
  close(): void;
}

/** Keeps the main file open, which is created once and never again. */
function createMainHolder(path: string, clock: Clock): Holder<WritableStore> & Pick<MemoryFiles, 'damage'> {
  const file = createWorkFile({
    path,
    content: 'the Translation Memory',
    open: () => {
      const database = openMainMemory(path);
      const close = (): void => {
        database.close();
      };
      return { store: createWritableStore(database), close };
    },
    monotonic: () => clock.monotonic(),
  });
  return {
    use: (use) => {
      try {
        return file.use(({ store }) => use(store));
      } catch (error) {
        const isUnusable = error instanceof DatabaseError || storageFailureOf(error) !== null;
        throw isUnusable ? new MemoryFileError('unavailable', messageOfUnusable(error), error) : error;
      }
    },
    damage: () => file.damage()?.finding ?? null,
    close: () => {
      file.close();
    },
  };
}

/** A DatabaseError says already what to do. */
function messageOfUnusable(error: unknown): string {
  return error instanceof DatabaseError ? error.message : describeStorageError(error);
}

/**
 * Keeps another file open. After a failure the file is opened again only when it has changed, because the check of a large damaged
 * file takes seconds.
 */
function createHolder<S>(file: string, open: () => Held<S>): Holder<S> {
  let held: Held<S> | null = null;
  let failed: { readonly stamp: string; readonly error: MemoryFileError } | null = null;
  const close = (): void => {
    held?.database.close();
    held = null;
  };
  const fail = (error: unknown): MemoryFileError => {
    close();
    const failure = new MemoryFileError('unavailable', describeStorageError(error), error);
    failed = { stamp: stampOf(file), error: failure };
    return failure;
  };
  return {
    close,
    use: (use) => {
      if (held === null) {
        if (failed !== null && failed.stamp === stampOf(file)) throw failed.error;
        try {
          held = open();
          failed = null;
        } catch (error) {
          throw fail(error);
        }
      }
      try {
        return use(held.store);
      } catch (error) {
        throw isDatabaseDamage(error) ? fail(error) : error;
      }
    },
  };
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

function fileOf({ main, root }: MemoryPaths, path: string | null): string {
  if (path === null) return main;
  let file: string | null;
  try {
    file = findBelowRootSync(root, path);
  } catch (error) {
    const isRefused = errorCode(error) === 'invalid_path';
    throw new MemoryFileError(isRefused ? 'invalid_path' : 'unavailable', messageOf(error), error);
  }
  if (file === null) {
    throw new MemoryFileError(
      'file_not_found',
      `there is no Translation Memory "${path}" in the folder memory.root: leave translation_memory_path out for the main one`,
    );
  }
  return isSame(file, main) ? main : file;
}

function isSame(file: string, main: string): boolean {
  try {
    return file === realpathSync(main);
  } catch {
    return false;
  }
}
