import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { messageOf } from '../platform/errors.ts';
import { OPEN_REGULAR } from '../platform/files/open-regular.ts';
import { FormatError } from './format-error.ts';
import { bufferOf } from '../platform/buffer-of.ts';

export interface ByteSource {
  readonly size: number;
  /**
   * Reads exactly `length` bytes. The result may share memory with the source and must not be changed.
   *
   * @throws RangeError when the range is not within the source; FormatError `file_unreadable` when the disk fails
   */
  read(offset: number, length: number): Buffer;
}

/** Reads from bytes in memory, without a copy. */
export function bytesSource(bytes: Uint8Array): ByteSource {
  const buffer = bufferOf(bytes);
  return {
    size: buffer.length,
    read: (offset, length) => {
      checkRange(offset, length, buffer.length);
      return buffer.subarray(offset, offset + length);
    },
  };
}

/**
 * Reads from an open file. It blocks, so it is for the processes that parse.
 *
 * @param descriptor stays open; its owner closes it
 */
export function fileSource(descriptor: number): ByteSource {
  const { size } = fstatSync(descriptor);
  return {
    size,
    read: (offset, length) => {
      checkRange(offset, length, size);
      const buffer = Buffer.allocUnsafe(length);
      let done = 0;
      while (done < length) {
        const count = readBytes(descriptor, buffer, done, offset + done);
        if (count === 0) throw new FormatError('file_unreadable', 'the file became shorter', offset + done);
        done += count;
      }
      return buffer;
    },
  };
}

/** A part of a source, with its first byte at position 0. */
export function sliceSource(source: ByteSource, start: number, size: number): ByteSource {
  return {
    size,
    read: (offset, length) => {
      checkRange(offset, length, size);
      return source.read(start + offset, length);
    },
  };
}

export interface OpenFile extends Disposable {
  readonly source: ByteSource;
}

/** The reason why {@link openFile} does not open a path, for messages. */
export const NOT_A_FILE = 'a folder, a named pipe or a device, and not a file';

/**
 * Opens a file for reading, never through a link or into a device: it may have been replaced.
 *
 * @returns `null` when the path leads to {@link NOT_A_FILE}
 */
export function openFile(path: string): OpenFile | null {
  const descriptor = openSync(path, OPEN_REGULAR);
  const close = (): void => {
    closeSync(descriptor);
  };
  if (fstatSync(descriptor).isFile()) return { source: fileSource(descriptor), [Symbol.dispose]: close };
  close();
  return null;
}

function readBytes(descriptor: number, buffer: Buffer, done: number, position: number): number {
  try {
    return readSync(descriptor, buffer, done, buffer.length - done, position);
  } catch (error) {
    throw new FormatError('file_unreadable', messageOf(error), position);
  }
}

/** @throws RangeError unless a range is within a size */
export function checkRange(offset: number, length: number, size: number): void {
  if (offset >= 0 && length >= 0 && offset + length <= size) return;
  throw new RangeError(`bytes ${offset} to ${offset + length} are not within ${size} bytes`);
}
