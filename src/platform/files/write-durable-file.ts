import { closeSync, constants, fchmodSync, fsync, openSync, rmSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';

const sync = promisify(fsync);

/** Nobody gets to change what was hashed. */
const MODE = 0o444;

/**
 * Writes a new read-only file and makes its bytes durable. Only the wait for the disk is asynchronous: for worker threads.
 * What is under the path is removed first, also a link or a read-only file; the new name is not durable before its
 * directory is.
 *
 * @param path absolute; its directory exists
 * @throws the file system error; no file is left
 */
export async function writeDurableFile(path: string, bytes: Uint8Array): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const fd = openNew(path, flags);
  try {
    for (let written = 0; written < bytes.length;) {
      written += writeSync(fd, bytes, written, bytes.length - written, written);
    }
    // The umask may have taken the right to read.
    fchmodSync(fd, MODE);
    await sync(fd);
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
