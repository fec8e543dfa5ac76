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
import { requireFirstHeader, TAR_BLOCK, TarError } from '../../mirror/bundle/tar-file.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { fsyncDirectory } from '../../platform/files/files.ts';
import { textBytes } from '../../domain/text-bytes.ts';

/** Copies of imports. The name says nothing about the process: those of two machines may share a folder and a process id. */
const COPY_NAME = /^\.import\.[0-9a-f-]+\.tmp$/;
/** A copy that no import has touched for so long is of one that was killed. */
const ABANDONED_MS = 10 * 60_000;
const TOUCH_MS = 60_000;
const COPY_BYTES = 4 * 1024 * 1024;

/** Bytes that an import leaves free: by default its folder is on the volume of the daemon that runs beside it. */
const RESERVE_BYTES = 64 * 1024 * 1024;
const RECHECK_BYTES = 16 * 1024 * 1024;

/** The name of a bundle that comes through a pipe, for messages. */
export const STANDARD_INPUT = 'standard input';

/** The file of a bundle, or a stream that gives it once. */
export type BundleInput =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'pipe'; readonly pieces: Readable };

interface PlaceBundleOptions<T> {
  readonly folder: string;
  readonly source: BundleInput;
  readonly check: (path: string) => Promise<T & { readonly name: string }>;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly statfs?: ReadSpace;
}

type ReadSpace = (folder: string) => Promise<{ readonly bavail: number; readonly bsize: number }>;

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
  statfs: readSpace = statfs,
}: PlaceBundleOptions<T>): Promise<T & { readonly name: string }> {
  const file = source.kind === 'file' ? { handle: await openFile(source.path), path: source.path } : null;
  const copy = join(folder, `.import.${randomUUID()}.tmp`);
  const touch = setInterval(() => {
    // It fails before the copy exists and after it got its name.
    void utimes(copy, now() / 1000, now() / 1000).catch(() => undefined);
  }, TOUCH_MS);
  let placed = false;
  try {
    await mkdir(folder, { recursive: true });
    await removeAbandoned(folder, now());
    const target = { copy, folder, readSpace, signal };
    if (source.kind === 'pipe') await spool(target, source.pieces);
    else if (file !== null) await copyInto(target, file);
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
      ? `${path} is a folder: pack it first (tar -C ${path} -cf bundle.tar .), or check it with --check`
      : `${path} is not a file`,
  );
}

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

interface CopyTarget {
  readonly copy: string;
  readonly folder: string;
  readonly readSpace: ReadSpace;
  readonly signal: AbortSignal;
}

/** Copies by reference where the file system can, and otherwise in pieces, which a signal ends. */
async function copyInto(
  target: CopyTarget,
  { handle, path }: { handle: FileHandle; path: string },
): Promise<void> {
  const { copy, signal } = target;
  try {
    await copyFile(path, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE);
    await chmod(copy, 0o644);
    return;
  } catch {
    // Few file systems share blocks, and only within themselves.
    await rm(copy, { force: true });
  }
  const { size } = await handle.stat();
  const what = (): string => `${path} has ${textBytes(size)}`;
  await requireSpace(target, size, what);
  await writeCopy(target, piecesOf(handle, size, signal), what);
}

async function* piecesOf(handle: FileHandle, size: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(size, COPY_BYTES)));
  for (let at = 0; ;) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

async function spool(target: CopyTarget, pieces: Readable): Promise<void> {
  const what = (written: number): string => `${STANDARD_INPUT} has more than ${textBytes(written)}`;
  // A pipe can be silent for any time, and a signal must end the wait.
  await writeCopy(target, withHeader(addAbortSignal(target.signal, pieces)), what);
}

/** Refuses a pipe that does not begin as an archive: it could be of any length, and would be copied to its end. */
async function* withHeader(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let start: Buffer | null = Buffer.alloc(0);
  for await (const piece of pieces) {
    if (start === null) {
      yield piece;
      continue;
    }
    start = Buffer.concat([start, piece]);
    if (start.length < TAR_BLOCK) continue;
    requireHeader(start.subarray(0, TAR_BLOCK));
    yield start;
    start = null;
  }
  // The check of the copy says that it is cut off.
  if (start !== null) yield start;
}

function requireHeader(block: Buffer): void {
  try {
    requireFirstHeader(block);
  } catch (error) {
    throw error instanceof TarError ? new BundleError(`${STANDARD_INPUT}: ${error.message}`) : error;
  }
}

async function writeCopy(
  target: CopyTarget,
  pieces: AsyncIterable<Uint8Array>,
  what: (written: number) => string,
): Promise<void> {
  const file = await open(target.copy, 'wx', 0o644);
  let written = 0;
  let recheckAt = 0;
  try {
    for await (const piece of pieces) {
      if (written + piece.length > recheckAt) {
        await requireSpace(target, piece.length, () => what(written));
        recheckAt = written + piece.length + RECHECK_BYTES;
      }
      // writeFile writes all of it, however often the system takes only a part.
      await file.writeFile(piece);
      written += piece.length;
    }
  } catch (error) {
    if (errorCode(error) !== 'ENOSPC') throw error;
    throw await fullError(target, what(written), 0);
  } finally {
    await file.close();
  }
}

async function requireSpace(target: CopyTarget, bytes: number, what: () => string): Promise<void> {
  const { bavail, bsize } = await target.readSpace(target.folder);
  const free = bavail * bsize;
  if (free < bytes + RESERVE_BYTES) throw await fullError(target, what(), free);
}

async function fullError({ copy, folder }: CopyTarget, what: string, free: number): Promise<BundleError> {
  const others = (await readdir(folder)).filter(
    (name) => COPY_NAME.test(name) && join(folder, name) !== copy,
  );
  const left =
    others.length === 0
      ? ''
      : `; ${others.join(', ')} there is of an import that runs, or was killed: then remove it`;
  return new BundleError(
    `${what}, and ${folder} has ${textBytes(free)} free, of which ${textBytes(RESERVE_BYTES)} must stay free: remove bundles of releases that are no longer current, or name another folder with --to${left}`,
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
