import { closeSync, constants, fchmodSync, openSync, rmSync, writeSync } from 'node:fs';

/** Nobody may change bytes that were hashed. */
const MODE = 0o444;

/**
 * Writes a new read-only file, synchronously: for worker threads. A file under the path, also a link or a read-only file,
 * is removed first. Neither the bytes nor the name are durable when it returns.
 *
 * @param path absolute; its directory exists
 * @throws the file system error; no file is left
 */
export function writeNewFile(path: string, bytes: Uint8Array): void {
  const fd = openNew(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW);
  try {
    for (let written = 0; written < bytes.length;) {
      written += writeSync(fd, bytes, written, bytes.length - written, written);
    }
    // The umask may have taken the right to read.
    fchmodSync(fd, MODE);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}

function openNew(path: string, flags: number): number {
  try {
    return openSync(path, flags, MODE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  rmSync(path, { force: true });
  return openSync(path, flags, MODE);
}
