import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { DatabaseError } from './database-error.ts';
import { makePrivateFile, makePrivateFolder } from '../../platform/files/private-files.ts';
import { messageOf } from '../../platform/errors.ts';
import type { Clock } from '../../platform/process/clock.ts';

/** A data folder that no other daemon can open meanwhile. */
export interface DataLock {
  release(): void;
}

const PRIVATE_FILES = ['daemon.lock', 'daemon.pid'] as const;

/** Another process has the data folder. */
export class DataLockHeldError extends DatabaseError {
  constructor(message: string, cause: unknown) {
    super(message, cause);
    this.name = 'DataLockHeldError';
  }
}

/** Milliseconds between two attempts to lock. */
const RETRY_MS = 500;
const SQLITE_BUSY = 5;

/**
 * Takes the data folder for this process, and creates it where it is missing. The lock is that of an exclusive
 * transaction on a small database, so the system gives it up when the process dies, however it dies.
 *
 * @param directory the data folder
 * @throws DataLockHeldError that names the process that has it; DatabaseError when the folder cannot be locked
 */
export function acquireDataLock(directory: string): DataLock {
  makePrivateFolder(directory);
  const holderPath = join(directory, 'daemon.pid');
  for (const name of PRIVATE_FILES) makePrivateFile(join(directory, name));
  const lock = new DatabaseSync(join(directory, 'daemon.lock'), { timeout: 0 });
  try {
    lock.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (!isBusy(error)) {
      throw new DatabaseError(`the data folder ${directory} cannot be locked: ${messageOf(error)}`, error);
    }
    throw new DataLockHeldError(
      `the data folder ${directory} is in use by another daemon${readHolder(holderPath)}; stop it, or configure another data.dir`,
      error,
    );
  }
  writeHolder(holderPath);
  return {
    release: () => {
      if (lock.isOpen) lock.close();
    },
  };
}

/**
 * Takes the data folder as soon as no other process has it.
 *
 * @param onWait called with the reason when it must wait
 * @throws the signal's reason; DatabaseError
 */
export async function waitForDataLock(
  directory: string,
  options: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly onWait: (reason: string) => void;
  },
): Promise<DataLock> {
  let reason = '';
  for (;;) {
    try {
      return acquireDataLock(directory);
    } catch (error) {
      if (!(error instanceof DataLockHeldError)) throw error;
      if (error.message !== reason) options.onWait(error.message);
      reason = error.message;
      await options.clock.sleep(RETRY_MS, options.signal);
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
}

/** Only a hint for people, so a full disk does not stop the start. */
function writeHolder(path: string): void {
  try {
    writeFileSync(path, `${process.pid} on ${hostname()}\n`);
  } catch {
    rmSync(path, { force: true });
  }
}

/** Only a hint for people: the file may be of a process that died since. */
function readHolder(path: string): string {
  try {
    return ` (pid ${readFileSync(path, 'utf8').trim().slice(0, 300)})`;
  } catch {
    return '';
  }
}
