import { realpathSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import { errorCode } from '../../../platform/files/error-code.ts';
import { messageOf } from '../../../platform/errors.ts';
import type { Database } from '../../database/sqlite-database.ts';
import { describeStorageError, isDatabaseDamage } from '../../database/storage-failure.ts';
import { openMainMemory, openOtherMemory, type ReadableDatabase } from './memory-database.ts';
import { MemoryFileError } from './memory-file-error.ts';
import {
  createReadableStore,
  createWritableStore,
  type ReadableStore,
  type WritableStore,
} from './memory-store.ts';

/** Where the files of the Translation Memory are. */
export interface MemoryPaths {
  /** The daemon's own file. */
  readonly main: string;
  /** The folder of other files. */
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
  close(): void;
}

/** Most other files that are open together; the one that was used longest ago is closed for a further one. */
const MOST_OTHER_FILES = 4;

/** Characters that no path of a request may have. */
// oxlint-disable-next-line no-control-regex
const UNUSABLE = /[\u0000-\u001f\u007f\\]/;

/** Creates the holder of the files; nothing is opened yet. */
export function createMemoryFiles(paths: MemoryPaths): MemoryFiles {
  const main = createHolder(paths.main, (): Held<Database, WritableStore> => {
    const database = openMainMemory(paths.main);
    return { database, store: createWritableStore(database) };
  });
  const others = new Map<string, Holder<ReadableStore>>();

  const other = (file: string): Holder<ReadableStore> => {
    const known = others.get(file);
    const holder =
      known ??
      createHolder(file, (): Held<ReadableDatabase, ReadableStore> => {
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
    close: () => {
      for (const holder of [main, ...others.values()]) holder.close();
      others.clear();
    },
  };
}

interface Held<D extends ReadableDatabase, S> {
  readonly database: D;
  readonly store: S;
}

interface Holder<S> {
  use<T>(use: (store: S) => T): T;
  close(): void;
}

/**
 * Keeps a file open. After a failure the file is opened again only when it has changed, because the check of a large damaged
 * file takes seconds.
 */
function createHolder<S>(file: string, open: () => Held<ReadableDatabase, S>): Holder<S> {
  let held: Held<ReadableDatabase, S> | null = null;
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

/** The file that a path names, with links resolved. */
function fileOf({ main, root }: MemoryPaths, path: string | null): string {
  if (path === null) return main;
  const segments = path.split('/');
  const isMalformed = UNUSABLE.test(path) || segments.some((each) => ['', '.', '..'].includes(each));
  if (isMalformed) throw outside(path, root);
  try {
    const folder = realpathSync(root);
    const file = realpathSync(join(folder, ...segments));
    if (isSame(file, main)) return main;
    if (!file.startsWith(folder + sep)) throw outside(path, root);
    return file;
  } catch (error) {
    if (error instanceof MemoryFileError) throw error;
    const isMissing = errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR';
    throw isMissing
      ? new MemoryFileError('file_not_found', `there is no Translation Memory ${path} in ${root}`, error)
      : new MemoryFileError('unavailable', messageOf(error), error);
  }
}

function isSame(file: string, main: string): boolean {
  try {
    return file === realpathSync(main);
  } catch {
    return false;
  }
}

function outside(path: string, root: string): MemoryFileError {
  return new MemoryFileError(
    'invalid_path',
    `${JSON.stringify(path)} is not a path to a file below ${root}; send it relative to that folder, without ".."`,
  );
}
