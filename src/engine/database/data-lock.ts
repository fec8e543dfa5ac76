import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { DatabaseError } from './database-error.ts';
import { keepAside, keepIrregularAside } from './keep-aside.ts';
import { makePrivateFile, makePrivateFolder } from '../../platform/files/private-files.ts';
import { isDatabaseDamage, unusableDataFolder } from './storage-failure.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { rmSync, writeFileSync } from '../../platform/files/file-changes.ts';

/** A data folder that no other daemon can open meanwhile. */
interface DataLock {
  /** Where the damaged lock is kept that this one replaces, or `null`. */
  readonly keptAt: string | null;
  release(): void;
}

const LOCK_FILE = 'daemon.lock';
const HOLDER_FILE = 'daemon.pid';
const LOCK_SUFFIXES = ['', '-journal'];

/** Another process has the data folder. */
export class DataLockHeldError extends DatabaseError {
  /** The process and its machine, in parentheses; empty when they are not known. */
  readonly holder: string;

  constructor(message: string, holder: string, cause: unknown) {
    super(message, cause);
    this.name = 'DataLockHeldError';
    this.holder = holder;
  }
}

/** Milliseconds between two attempts to lock. */
const RETRY_MS = 500;
const SQLITE_BUSY = 5;

/**
 * Takes the data folder for this process, and creates it where it is missing. The lock is that of an exclusive
 * transaction on a small database, so the system gives it up when the process dies, however it dies.
 *
 * A damaged lock is kept aside and replaced: nobody holds it, because SQLite reads the file only after it got its lock.
 *
 * @param directory the data folder
 * @param now for the name of a damaged lock
 * @throws DataLockHeldError that names the process that has it; DatabaseError when the folder cannot be used
 */
export function acquireDataLock(directory: string, now: Date): DataLock {
  const path = join(directory, LOCK_FILE);
  const irregular = setIrregularAside(directory, now);
  try {
    return lockFile(directory, irregular);
  } catch (error) {
    if (!isDatabaseDamage(error)) throw error;
    return lockFile(directory, keepAside(path, now, LOCK_SUFFIXES));
  }
}

/** Keeps aside what has the name of a file of the lock but is none; returns where the lock is now, or `null`. */
function setIrregularAside(directory: string, now: Date): string | null {
  try {
    makePrivateFolder(directory);
    keepIrregularAside(join(directory, HOLDER_FILE), now);
    return keepIrregularAside(join(directory, LOCK_FILE), now, LOCK_SUFFIXES);
  } catch (error) {
    throw unusableDataFolder(directory, error);
  }
}

function lockFile(directory: string, keptAt: string | null): DataLock {
  const holderPath = join(directory, HOLDER_FILE);
  const lock = openLock(directory);
  try {
    lock.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw unusableDataFolder(directory, error);
    const holder = readHolder(holderPath);
    throw new DataLockHeldError(
      `the data folder ${directory} is in use by another daemon${holder}; stop it, or configure another data.dir`,
      holder,
      error,
    );
  }
  writeHolder(holderPath);
  return {
    keptAt,
    release: () => {
      if (lock.isOpen) lock.close();
    },
  };
}

function openLock(directory: string): DatabaseSync {
  try {
    for (const name of [LOCK_FILE, HOLDER_FILE]) makePrivateFile(join(directory, name));
    return new DatabaseSync(join(directory, LOCK_FILE), { timeout: 0 });
  } catch (error) {
    throw unusableDataFolder(directory, error);
  }
}

/**
 * Takes the data folder as soon as no other process has it.
 *
 * @param options `onWait` is called with each new reason to wait, `onTurn` before each pause of the wait
 * @throws the signal's reason; DatabaseError
 */
export async function waitForDataLock(
  directory: string,
  options: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly onWait: (reason: string) => void;
    readonly onTurn?: (() => void) | undefined;
  },
): Promise<DataLock> {
  let reason = '';
  for (;;) {
    try {
      return acquireDataLock(directory, new Date(options.clock.now()));
    } catch (error) {
      if (!(error instanceof DataLockHeldError)) throw error;
      if (error.message !== reason) options.onWait(error.message);
      reason = error.message;
      options.onTurn?.();
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
