import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCode } from './error-code.ts';
import { noFailpoints, type Failpoints } from './failpoints.ts';
import { closeSync, fsyncSync, mkdir, open, openSync, rename, rm } from './file-changes.ts';

/** A file holds more bytes than its reader allows. */
export class FileTooLargeError extends Error {
  constructor(path: string, maxBytes: number) {
    super(`${path} is larger than the ${maxBytes} bytes allowed`);
    this.name = 'FileTooLargeError';
  }
}

/**
 * Replaces a file so that after a crash at any instant either the old or the new bytes are there: writes a temporary
 * file beside it, fsyncs it, renames it over the path and fsyncs the directory. A crash may leave a `.tmp` file.
 *
 * @param failpoints hits `durable:written`, `durable:synced` and `durable:renamed`
 * @throws the file system error; the temporary file is removed
 *
 * Source: rename(2), fsync(2) ("ensure that the entry in the directory has also reached disk").
 */
export async function writeFileDurably(
  path: string,
  bytes: Uint8Array | string,
  failpoints: Failpoints = noFailpoints,
  mode = 0o644,
): Promise<void> {
  await fillFileDurably(path, async (handle) => await handle.writeFile(bytes), failpoints, mode);
}

/**
 * The same for a file that is written in pieces: it has its name once `fill` has ended and every byte is durable.
 *
 * @throws what `fill` throws; the file system error; the temporary file is removed
 */
export async function fillFileDurably<T>(
  path: string,
  fill: (handle: FileHandle) => Promise<T>,
  failpoints: Failpoints = noFailpoints,
  mode = 0o644,
): Promise<T> {
  const directory = dirname(path);
  const temporary = join(directory, `.${basename(path)}.${randomUUID()}.tmp`);
  let renamed = false;
  let filled: T;
  try {
    const handle = await open(temporary, 'wx', mode);
    try {
      filled = await fill(handle);
      failpoints.hit('durable:written');
      await handle.sync();
      failpoints.hit('durable:synced');
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
    renamed = true;
    failpoints.hit('durable:renamed');
  } finally {
    if (!renamed) await rm(temporary, { force: true });
  }
  await fsyncDirectory(directory);
  return filled;
}

/**
 * Checks that a file that a user names may be replaced. A rename would replace a device or a link by a file.
 *
 * @throws Error when something else than a regular file is there; the file system error
 */
export async function requireReplaceable(path: string): Promise<void> {
  const found = await lstat(path).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  });
  if (found === null || found.isFile()) return;
  throw new Error(
    `${path} is not a regular file, so it is not replaced; name another file, or use -o - for a pipe or a device`,
  );
}

/** Creates a directory in an existing one; does nothing when it exists. Throws the file system error. */
export async function makeDirectory(path: string): Promise<void> {
  try {
    // Not recursive: on a read-only volume that reports ENOENT instead of EROFS.
    await mkdir(path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
}

/** Creates a directory and its parents where they are missing. The name of each new one is durable. Throws the file system error. */
export async function makeDirectoriesDurably(path: string, mode = 0o777): Promise<void> {
  const whole = resolve(path);
  const first = await mkdir(whole, { recursive: true, mode });
  if (first === undefined) return;
  for (let made = whole; made.length >= first.length; made = dirname(made)) {
    await fsyncDirectory(dirname(made));
  }
}

/** Makes the names in a directory durable. */
export async function fsyncDirectory(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The same, for code that must not pause. */
export function fsyncDirectorySync(path: string): void {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Reads a whole regular file; symbolic links are followed, as mounted Secrets and ConfigMaps are links.
 *
 * @throws FileTooLargeError; Error for anything but a regular file; the file system error
 */
export async function readBoundedFile(path: string, maxBytes: number): Promise<Buffer> {
  // Without O_NONBLOCK a named pipe would hang the open until someone writes to it.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new Error(`${path} is not a regular file`);
    if (stat.size > maxBytes) throw new FileTooLargeError(path, maxBytes);
    return await readUpTo(handle, path, maxBytes, stat.size);
  } finally {
    await handle.close();
  }
}

/** Reads to the end; the file may grow or shrink meanwhile, so its size is only a first guess. */
async function readUpTo(
  handle: FileHandle,
  path: string,
  maxBytes: number,
  expectedSize: number,
): Promise<Buffer> {
  let buffer = Buffer.allocUnsafe(Math.min(expectedSize, maxBytes) + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, null);
    if (bytesRead === 0) return buffer.subarray(0, length);
    length += bytesRead;
    if (length > maxBytes) throw new FileTooLargeError(path, maxBytes);
    if (length === buffer.length) {
      buffer = Buffer.concat([buffer, Buffer.allocUnsafe(Math.min(buffer.length, maxBytes + 1 - length))]);
    }
  }
}
