import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import {
  chmod,
  copyFile,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  statfs,
  utimes,
  type FileHandle,
} from 'node:fs/promises';
import { join } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { BundleError } from '../../mirror/bundle/bundle-error.ts';
import { checkRoom } from '../../mirror/bundle/bundle-folder.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { fsyncDirectory } from '../../platform/files/files.ts';
import { textBytes } from '../../platform/terminal/text-table.ts';

/** Copies of imports. The name says nothing about the process: those of two machines may share a folder and a process id. */
const COPY_NAME = /^\.import\.[0-9a-f-]+\.tmp$/;
/** A copy that no import has touched for so long is of one that was killed. */
const ABANDONED_MS = 10 * 60_000;
/** How often an import touches its copy. */
const TOUCH_MS = 60_000;
/** Bytes copied at a time. */
const COPY_BYTES = 4 * 1024 * 1024;

/** The name of a bundle that comes through a pipe, for messages. */
export const STANDARD_INPUT = 'standard input';

export interface PlaceBundleOptions<T> {
  readonly folder: string;
  /** The file of the bundle, or a stream that gives it once. */
  readonly source: string | Readable;
  /** Checks the copy. Throws when it is not sound. */
  readonly check: (path: string) => Promise<T & { readonly name: string }>;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/**
 * Copies a bundle into a folder, checks the copy, and only then gives it its name: the copy in the folder is the one that was checked.
 * Copies that killed imports left are removed first.
 *
 * @returns what `check` returns
 * @throws what `check` throws; BundleError; the file system error; the signal's reason. The copy is removed
 */
export async function placeBundle<T>({
  folder,
  source,
  check,
  now,
  signal,
}: PlaceBundleOptions<T>): Promise<T & { readonly name: string }> {
  const file = typeof source === 'string' ? { handle: await openFile(source), path: source } : null;
  const copy = join(folder, `.import.${randomUUID()}.tmp`);
  const touch = setInterval(() => {
    // It fails before the copy exists and after it got its name.
    void utimes(copy, now() / 1000, now() / 1000).catch(() => undefined);
  }, TOUCH_MS);
  let placed = false;
  try {
    await mkdir(folder, { recursive: true });
    await removeAbandoned(folder, now());
    if (file !== null) await copyInto(copy, { ...file, folder, signal });
    else await spool(copy, { pieces: source as Readable, folder, signal });
    const checked = await check(copy);
    await syncFile(copy);
    await checkRoom(folder, checked.name);
    await rename(copy, join(folder, checked.name));
    placed = true;
    await fsyncDirectory(folder);
    return checked;
  } finally {
    clearInterval(touch);
    await file?.handle.close();
    if (!placed) await rm(copy, { force: true });
  }
}

async function openFile(path: string): Promise<FileHandle> {
  // Without O_NONBLOCK a named pipe would hang the open until someone writes to it.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await handle.stat();
  if (stats.isFile()) return handle;
  await handle.close();
  throw new BundleError(
    stats.isDirectory()
      ? `${path} is a folder: pack it first (tar -C ${path} -cf bundle.tar .), or look at it with --check`
      : `${path} is not a file`,
  );
}

/** Removes the copies of imports that were killed. */
async function removeAbandoned(folder: string, nowMs: number): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!COPY_NAME.test(name)) continue;
    const path = join(folder, name);
    try {
      if ((await stat(path)).mtimeMs < nowMs - ABANDONED_MS) await rm(path, { force: true });
    } catch (error) {
      // Another import has ended.
      if (errorCode(error) !== 'ENOENT') throw error;
    }
  }
}

interface CopySource {
  readonly handle: FileHandle;
  readonly path: string;
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** Copies by reference where the file system can, and otherwise in pieces, which a signal ends. */
async function copyInto(copy: string, { handle, path, folder, signal }: CopySource): Promise<void> {
  try {
    await copyFile(path, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE);
    await chmod(copy, 0o644);
    return;
  } catch {
    // Few file systems share blocks, and only within themselves.
    await rm(copy, { force: true });
  }
  const { size } = await handle.stat();
  const what = `${path} has ${textBytes(size)}`;
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < size) throw await fullError(copy, { what, folder, free: bavail * bsize });
  const target = await open(copy, 'wx', 0o644);
  try {
    const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(size, COPY_BYTES)));
    for (let at = 0; ;) {
      signal.throwIfAborted();
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) return;
      // writeFile writes all of it, however often the system takes only a part.
      await target.writeFile(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
  } catch (error) {
    if (errorCode(error) !== 'ENOSPC') throw error;
    throw await fullError(copy, { what, folder, free: 0 });
  } finally {
    await target.close();
  }
}

interface PipedSource {
  readonly pieces: Readable;
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** Writes the bytes of a pipe, whose end nobody knows before. The free space bounds them. */
async function spool(copy: string, { pieces, folder, signal }: PipedSource): Promise<void> {
  const target = await open(copy, 'wx', 0o644);
  let written = 0;
  try {
    // A pipe can be silent for any time, and a signal must end the wait.
    for await (const piece of addAbortSignal(signal, pieces) as AsyncIterable<Uint8Array>) {
      await target.writeFile(piece);
      written += piece.length;
    }
  } catch (error) {
    if (errorCode(error) !== 'ENOSPC') throw error;
    throw await fullError(copy, {
      what: `${STANDARD_INPUT} has more than ${textBytes(written)}`,
      folder,
      free: 0,
    });
  } finally {
    await target.close();
  }
}

interface FullFolder {
  /** The bundle and its size. */
  readonly what: string;
  readonly folder: string;
  /** Bytes that are free. */
  readonly free: number;
}

/** Says how much is missing, and whether copies of other imports take it. */
async function fullError(copy: string, { what, folder, free }: FullFolder): Promise<BundleError> {
  const others = (await readdir(folder)).filter(
    (name) => COPY_NAME.test(name) && join(folder, name) !== copy,
  );
  const left =
    others.length === 0
      ? ''
      : `; ${others.join(', ')} there is of an import that runs, or was killed: then remove it`;
  return new BundleError(
    `${what}, and ${folder} has ${textBytes(free)} free: remove bundles of releases that are no longer current, or name another folder with --to${left}`,
  );
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
