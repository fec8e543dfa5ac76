import { DamagedRowError, DatabaseError } from './database-error.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { messageOf } from '../../platform/errors.ts';

/** A storage error that has a name: the failure code of tasks and the problem code of control calls. */
export interface StorageFailure {
  readonly code: string;
  readonly advice: string;
  readonly retryable: boolean;
}

const NO_SPACE = failure('no_space', 'free space on the volume, for example with release-cleanup');
const READ_ONLY = failure('read_only', 'give the daemon write access to the snapshot volume');
const OPEN_FILES = failure('io_error', 'raise the limit of open files', true);

/** Errors of the snapshot volume by their code. Source: errno(3). */
const VOLUME_FAILURES: ReadonlyMap<string, StorageFailure> = new Map([
  ['ENOSPC', NO_SPACE],
  ['EDQUOT', failure('no_space', 'raise the quota of the volume or run release-cleanup')],
  ['EROFS', failure('read_only', 'mount the snapshot volume read-write for the daemon')],
  ['EACCES', READ_ONLY],
  ['EPERM', READ_ONLY],
  ['EIO', failure('io_error', 'check the disk behind the volume', true)],
  ['EXDEV', failure('io_error', 'the staging directory must be on the file system of the store', true)],
  ['EMFILE', OPEN_FILES],
  ['ENFILE', OPEN_FILES],
  ['ESTALE', failure('io_error', 'the volume went away; check the mount', true)],
  [
    'ESTORE',
    failure(
      'store_unavailable',
      'nothing is written to it; the daemon continues when its store is back',
      true,
    ),
  ],
  ['ELEASE', failure('lease_lost', 'another daemon writes to the volume, or this one was paused', true)],
]);

const DATA_READ_ONLY = failure('data_read_only', 'give the daemon write access to data.dir');
const DATA_IO_ERROR = failure('data_io_error', 'check the disk behind data.dir', true);
/** The volume of `data.dir` is full. */
export const DATA_FULL: StorageFailure = failure(
  'data_full',
  'free space on the volume of data.dir or enlarge it, then try again',
);
const DATA_DAMAGED = failure('data_damaged', 'restart the daemon: it rebuilds the database from the volume');

/** Errors of the database by the primary result codes of SQLite. Source: sqlite.org/rescode.html. */
const DATA_FAILURES: ReadonlyMap<number, StorageFailure> = new Map([
  [8, DATA_READ_ONLY], // SQLITE_READONLY
  [10, DATA_IO_ERROR], // SQLITE_IOERR
  [11, DATA_DAMAGED], // SQLITE_CORRUPT
  [13, DATA_FULL], // SQLITE_FULL
  [14, DATA_IO_ERROR], // SQLITE_CANTOPEN
  [26, DATA_DAMAGED], // SQLITE_NOTADB
]);

/**
 * SQLITE_IOERR_SHMSIZE: the index of the write-ahead log could not grow. Every first use of a database on a full volume ends with it.
 * Source: sqlite.org/rescode.html.
 */
const SHARED_MEMORY_SIZE = 4874;

/** Errors of the file system of the data folder. */
const DATA_FOLDER_FAILURES: ReadonlyMap<string, StorageFailure> = new Map([
  ['ENOSPC', DATA_FULL],
  ['EDQUOT', DATA_FULL],
  ['EROFS', DATA_READ_ONLY],
  ['EACCES', DATA_READ_ONLY],
  ['EPERM', DATA_READ_ONLY],
  ['EIO', DATA_IO_ERROR],
]);

/** The number of causes that are searched. */
const MAX_CAUSES = 5;

/** The storage failure that an error or one of its causes stands for, or `null`. */
export function storageFailureOf(error: unknown): StorageFailure | null {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth += 1) {
    const rule = dataFailureOf(current) ?? VOLUME_FAILURES.get(errorCode(current) ?? '');
    if (rule !== undefined) return rule;
    current = current.cause;
  }
  return null;
}

/** The message of an error, with the name of its storage failure and the advice where it has them. */
export function describeStorageError(error: unknown): string {
  const known = storageFailureOf(error);
  return known === null ? messageOf(error) : `${known.code} (${messageOf(error)}); ${known.advice}`;
}

/** The storage failure that a file system error of the data folder stands for, or `null`. */
export function dataFolderFailureOf(error: unknown): StorageFailure | null {
  return DATA_FOLDER_FAILURES.get(errorCode(error) ?? '') ?? null;
}

/** Gives a file system error of the data folder a message with its name and advice; returns other errors unchanged. */
export function dataFolderError(error: unknown): unknown {
  const known = dataFolderFailureOf(error);
  return known === null
    ? error
    : new DatabaseError(`${known.code} (${messageOf(error)}); ${known.advice}`, null);
}

/**
 * Gives an error of a data folder that a starting daemon cannot use a message: which folder, what failed, what to do. A
 * DatabaseError has one already and is returned unchanged.
 */
export function unusableDataFolder(directory: string, error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const ofDatabase = error instanceof Error ? dataFailureOf(error) : undefined;
  const known = dataFolderFailureOf(error) ?? ofDatabase;
  const what = known === undefined ? messageOf(error) : `${known.code} (${messageOf(error)})`;
  const advice = known?.advice ?? 'set data.dir to a folder that the daemon can write to';
  return new DatabaseError(`the data folder ${directory} cannot be used: ${what}; ${advice}`, error);
}

/** Whether this error says that the file is damaged, has a damaged value, or cannot be a database. */
export function isDatabaseDamage(error: unknown): boolean {
  return storageFailureOf(error)?.code === DATA_DAMAGED.code;
}

/** Maps a damaged value or an error of node:sqlite to its failure. `errcode` is the extended result code. */
function dataFailureOf(error: Error): StorageFailure | undefined {
  if (error instanceof DamagedRowError) return DATA_DAMAGED;
  if (!('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode === SHARED_MEMORY_SIZE ? DATA_FULL : DATA_FAILURES.get(error.errcode % 256);
}

function failure(code: string, advice: string, retryable = false): StorageFailure {
  return { code, advice, retryable };
}
