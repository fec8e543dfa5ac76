import type { BigIntStats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { errorCode } from '../../platform/files/error-code.ts';
import { failureOfFile } from './directory-walk.ts';
import { quoteText } from '../upstream-location.ts';
import { UpstreamError, type EntryStart, type UpstreamBody, type UpstreamEntry } from '../upstream.ts';
import { OPEN_REGULAR } from '../../platform/files/open-regular.ts';

const READ_BYTES = 256 * 1024;

/**
 * Opens a file of a local tree, from an offset where it is still the file that the offset was reached in.
 *
 * @param entry its locator is `<mtime in nanoseconds>:<absolute path>`
 * @throws UpstreamError `catalog_changed` (retryable) when the file is not the one listed
 */
export async function openDirectoryEntry(
  entry: UpstreamEntry,
  resume: EntryStart,
  signal: AbortSignal,
): Promise<UpstreamBody> {
  signal.throwIfAborted();
  const separator = entry.locator.indexOf(':');
  const mtimeNs = entry.locator.slice(0, separator);
  const path = entry.locator.slice(separator + 1);
  let handle: FileHandle;
  try {
    // Non-blocking, so that a file that was replaced by a pipe cannot hang the open.
    handle = await open(path, OPEN_REGULAR);
  } catch (error) {
    throw errorCode(error) === 'ENOENT' ? missing(path, error) : failureOfFile(error, path);
  }
  try {
    const stats = await handle.stat({ bigint: true });
    if (!isListedFile(stats, entry, mtimeNs)) throw changed(path);
    const validator = `${stats.ino}-${stats.size}-${stats.mtimeNs}`;
    const start = resume.validator === validator && resume.start <= Number(stats.size) ? resume.start : 0;
    const totalSize = Number(stats.size);
    return {
      start,
      totalSize,
      validator,
      chunks: readFile({ handle, path, start, end: totalSize, mtimeNs }, entry, signal),
    };
  } catch (error) {
    await handle.close();
    throw failureOfFile(error, path);
  }
}

function missing(path: string, cause: unknown): UpstreamError {
  return new UpstreamError(
    'catalog_changed',
    `${quoteText(path)} is not there; put the file back, or run sync if upstream has another release`,
    { retryable: true, cause },
  );
}

interface OpenFile {
  readonly handle: FileHandle;
  readonly path: string;
  readonly start: number;
  readonly end: number;
  readonly mtimeNs: string;
}

async function* readFile(
  file: OpenFile,
  entry: UpstreamEntry,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const { handle, path, end } = file;
  try {
    for (let position = file.start; position < end;) {
      signal.throwIfAborted();
      const length = Math.min(READ_BYTES, end - position);
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafeSlow(length), 0, length, position);
      if (bytesRead === 0) throw changed(path);
      position += bytesRead;
      yield bytesRead === length ? buffer : buffer.subarray(0, bytesRead);
    }
    if (!isListedFile(await handle.stat({ bigint: true }), entry, file.mtimeNs)) throw changed(path);
  } catch (error) {
    signal.throwIfAborted();
    throw failureOfFile(error, path);
  } finally {
    await handle.close();
  }
}

function isListedFile(stats: BigIntStats, entry: UpstreamEntry, mtimeNs: string): boolean {
  return stats.isFile() && Number(stats.size) === entry.size && stats.mtimeNs.toString() === mtimeNs;
}

function changed(path: string): UpstreamError {
  return new UpstreamError('catalog_changed', `${quoteText(path)} is not the file that was listed`, {
    retryable: true,
  });
}
