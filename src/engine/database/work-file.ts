import { statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DamagedRowError, DatabaseDamagedError, DatabaseLostError } from './database-error.ts';
import { isDatabaseDamage } from './storage-failure.ts';
import { messageOf } from '../../platform/errors.ts';
import { writeFileSync } from '../../platform/files/file-changes.ts';

/** A database that holds human work. Nothing makes it again, so a file that cannot be used stays as it is. */
export interface WorkFile<T> {
  /**
   * Runs work with the open database, which is opened with the first use. After a failure it is opened again when the
   * file has changed, or after some seconds.
   *
   * @throws DatabaseError when the file cannot be used, or the work reads a damaged value; the error of the work
   */
  use<R>(work: (opened: T) => R): R;
  /** The damaged value that was read last from the open file; `null` without one. Work that does not read it is still done. */
  damage(): DamagedRowError | null;
  close(): void;
}

/**
 * The methods of what a file holds, each of which uses the file.
 *
 * @param use runs work with what the file holds
 * @param others methods that do not need it
 */
export function methodsOf<Methods extends object, Others extends object>(
  use: <R>(work: (methods: Methods) => R) => R,
  others: Others,
): Methods & Others {
  return new Proxy(others, {
    get: (_, name) => {
      if (name in others || typeof name === 'symbol') return Reflect.get(others, name) as unknown;
      return (...args: readonly unknown[]) =>
        use((methods) => Reflect.apply(Reflect.get(methods, name) as () => unknown, methods, args));
    },
  }) as Methods & Others;
}

interface WorkFileOptions<T> {
  readonly path: string;
  /** Names the content, as "the Glossary". */
  readonly content: string;
  /** Opens the file, and creates an empty one when it is missing. Throws DatabaseError. */
  readonly open: (path: string) => T;
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: () => number;
}

/** Milliseconds until a file that could not be used is opened again without a change. */
const RETRY_MS = 5000;

/** Creates the holder of one file. */
export function createWorkFile<T extends { close(): void }>(options: WorkFileOptions<T>): WorkFile<T> {
  const { path, monotonic } = options;
  let opened: { readonly value: T; readonly file: string } | null = null;
  let damage: DamagedRowError | null = null;
  let failed: { readonly error: unknown; readonly file: string; readonly at: number } | null = null;

  const close = (): void => {
    const before = opened;
    opened = null;
    damage = null;
    before?.value.close();
  };
  const fail = (error: unknown): never => {
    failed = { error, file: stateOf(path), at: monotonic() };
    throw error;
  };
  const get = (): T => {
    // A connection to a file that was moved away would write where nobody reads.
    if (opened !== null && opened.file !== identityOf(path)) close();
    if (opened !== null) return opened.value;
    if (failed !== null && failed.file === stateOf(path) && monotonic() - failed.at < RETRY_MS) {
      throw failed.error;
    }
    try {
      const value = openMarked(options);
      opened = { value, file: identityOf(path) };
      failed = null;
      return value;
    } catch (error) {
      return fail(error);
    }
  };
  return {
    use: (work) => {
      const value = get();
      try {
        return work(value);
      } catch (error) {
        if (error instanceof DamagedRowError) damage = error;
        if (error instanceof DamagedRowError || !isDatabaseDamage(error)) throw error;
        close();
        return fail(new DatabaseDamagedError(path, messageOf(error), error));
      }
    },
    damage: () => damage,
    close,
  };
}

function openMarked<T>({ path, content, open }: WorkFileOptions<T>): T {
  const marker = markerOf(path);
  if (wasThereBefore(path)) {
    const state = sizeOf(path) === undefined ? 'missing' : 'empty';
    throw new DatabaseLostError(
      `${content} ${path} was there before and is ${state} now; restore it from a backup, or delete ${marker} to begin with an empty one`,
    );
  }
  const value = open(path);
  if (sizeOf(marker) === undefined) writeFileSync(marker, '', { mode: 0o600 });
  return value;
}

/**
 * The file beside a database that says that it was created, so that a lost database is not taken for a first start. The dot keeps
 * it when somebody deletes the database together with the other files of SQLite, whose names begin with its name.
 */
function markerOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.created`);
}

/** Whether a database is missing or empty that was there before. @throws the file system error */
export function wasThereBefore(path: string): boolean {
  return isLost(path) && sizeOf(markerOf(path)) !== undefined;
}

/**
 * Whether nothing was ever stored: the file is missing, and nothing says that it was there before. `false` when that is
 * unknown: opening the file then reports the error.
 */
export function wasNeverMade(path: string): boolean {
  try {
    return sizeOf(path) === undefined && sizeOf(markerOf(path)) === undefined;
  } catch {
    return false;
  }
}

/** Whether the file is missing, or has no content after a copy that failed. SQLite writes a header before its log has anything. */
function isLost(path: string): boolean {
  const size = sizeOf(path);
  return size === undefined || (size === 0 && (sizeOf(`${path}-wal`) ?? 0) === 0);
}

/** Bytes; `undefined` for a file that is missing. Throws other errors of the file system: the file may be there. */
function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

/** Changes when another file is at the path. */
function identityOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.dev}:${found.ino}`;
}

/** Changes when another file is at the path, or when the file is written. */
function stateOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.dev}:${found.ino}:${found.size}:${found.mtimeMs}`;
}
