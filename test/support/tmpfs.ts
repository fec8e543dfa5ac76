import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, onTestFinished } from 'vitest';
import type { AtEnd } from './shared-fixture.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Mounting needs root and the capability. Elsewhere the tests are skipped, and the reason is printed. */
export function canMount(): boolean {
  try {
    execFileSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt'], { stdio: 'ignore' });
    return true;
  } catch (error) {
    if (process.env['CI'] === 'true') throw new Error('CI must be able to mount a tmpfs', { cause: error });
    console.warn('SKIPPED: disk full and read-only volume need the right to mount a tmpfs');
    return false;
  }
}

/** Makes an empty file system of this size. */
export async function tmpfs(size: string, atEnd: AtEnd = onTestFinished): Promise<string> {
  const directory = await temporaryDirectory(atEnd);
  mountTmpfs(directory, size, atEnd);
  return directory;
}

/** Mounts an empty file system of this size until the running test or its owner ends. */
export function mountTmpfs(directory: string, size: string, atEnd: AtEnd = onTestFinished): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'slipway-test', directory]);
  atEnd(() => {
    execFileSync('umount', ['-l', directory]);
  });
}

/** Uses up every byte of a file system by the file `filler`. */
export function fill(directory: string): void {
  const write = (bytes: number): boolean => {
    try {
      writeFileSync(join(directory, 'filler'), Buffer.alloc(bytes), { flag: 'a' });
      return true;
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
      return false;
    }
  };
  for (const bytes of [1 << 20, 1 << 12, 1]) while (write(bytes));
}
