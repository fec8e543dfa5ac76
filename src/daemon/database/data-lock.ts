import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { DatabaseError } from './database-error.ts';
import { makePrivateFile, makePrivateFolder } from '../../platform/files/private-files.ts';
import { messageOf } from '../../platform/errors.ts';

/** A data folder that no other daemon can open meanwhile. */
export interface DataLock {
  release(): void;
}

const PRIVATE_FILES = ['daemon.lock', 'daemon.pid'] as const;
const SQLITE_BUSY = 5;

/**
 * Takes the data folder for this process, and creates it where it is missing. The lock is that of an exclusive
 * transaction on a small database, so the system gives it up when the process dies, however it dies.
 *
 * @param directory the data folder
 * @throws DatabaseError that names the process that has it
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
    throw new DatabaseError(
      `the data folder ${directory} is in use by another daemon${readHolder(holderPath)}; stop it, or configure another data.dir`,
      error,
    );
  }
  writeFileSync(holderPath, `${process.pid} on ${hostname()}\n`);
  return {
    release: () => {
      if (lock.isOpen) lock.close();
    },
  };
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
}

/** Only a hint for people: the file may be of a process that died since. */
function readHolder(path: string): string {
  try {
    return ` (pid ${readFileSync(path, 'utf8').trim().slice(0, 300)})`;
  } catch {
    return '';
  }
}
