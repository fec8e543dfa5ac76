import { open, realpath, stat, type FileHandle } from 'node:fs/promises';
import { OPEN_REGULAR } from '../../platform/files/open-regular.ts';
import { invalidEntry } from '../entry-rules.ts';
import { quoteText } from '../upstream-location.ts';
import { UpstreamError } from '../upstream.ts';
import { failureOfFile } from './directory-walk.ts';

/**
 * The real path of the root of a tree.
 *
 * @param setting that names the root, for messages
 * @throws UpstreamError when it is no directory that can be read
 */
export async function resolveTreeRoot(path: string, setting: string): Promise<string> {
  let root: string;
  try {
    root = await realpath(path);
    if ((await stat(root)).isDirectory()) return root;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new UpstreamError(
      'upstream_unreachable',
      `${quoteText(path)} cannot be read (${code}): check ${setting} and that it is mounted`,
      { retryable: true, cause: error },
    );
  }
  throw invalidEntry(quoteText(path), `${setting} must name a directory`);
}

/** Opens a regular file of a tree; `null` when there is none. @throws UpstreamError */
export async function openOptional(path: string): Promise<FileHandle | null> {
  let handle: FileHandle;
  try {
    handle = await open(path, OPEN_REGULAR);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP') throw invalidEntry(quoteText(path), 'it must not be a symbolic link');
    throw failureOfFile(error, path);
  }
  try {
    if ((await handle.stat()).isFile()) return handle;
    throw invalidEntry(quoteText(path), 'it must be a regular file');
  } catch (error) {
    await handle.close();
    throw failureOfFile(error, path);
  }
}

/** Reads a whole regular file of a tree; `null` when there is none. @throws UpstreamError */
export async function readOptional(path: string, maxBytes: number): Promise<Buffer | null> {
  const handle = await openOptional(path);
  if (handle === null) return null;
  try {
    const { size } = await handle.stat();
    if (size > maxBytes) throw invalidEntry(quoteText(path), `it must not exceed ${maxBytes} bytes`);
    const bytes = Buffer.alloc(size);
    const { bytesRead } = await handle.read(bytes, 0, size, 0);
    return bytes.subarray(0, bytesRead);
  } catch (error) {
    throw failureOfFile(error, path);
  } finally {
    await handle.close();
  }
}
