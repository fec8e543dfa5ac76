import { mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const SHARED_MEMORY = '/dev/shm';
const NAME = /^slipway-unit-(\d+)$/u;
/** More than the temporary files of all workers take at one time, with room for the programs. */
const NEEDED_BYTES = 4 * 1024 ** 3;

/** A directory in memory for the temporary files of this run; `null` where there is no room for one. */
export const MEMORY_DIRECTORY = hasRoom() ? join(SHARED_MEMORY, `slipway-unit-${process.pid}`) : null;

/** Makes the directory, and removes those of runs that were killed. */
export function setup(): void {
  if (MEMORY_DIRECTORY === null) return;
  for (const name of readdirSync(SHARED_MEMORY)) {
    const pid = Number(NAME.exec(name)?.[1] ?? process.pid);
    if (!isRunning(pid)) rmSync(join(SHARED_MEMORY, name), { recursive: true, force: true });
  }
  mkdirSync(MEMORY_DIRECTORY, { recursive: true });
}

/** Removes the directory. */
export function teardown(): void {
  if (MEMORY_DIRECTORY !== null) rmSync(MEMORY_DIRECTORY, { recursive: true, force: true });
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(SHARED_MEMORY);
    return Math.min(bavail * bsize, process.availableMemory()) >= NEEDED_BYTES;
  } catch {
    // Not on every system.
    return false;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
