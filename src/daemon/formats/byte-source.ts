import { fstatSync, readSync } from 'node:fs';
import { messageOf } from '../../platform/errors.ts';
import { FormatError } from './format-error.ts';

/** Bytes that can be read at any position. */
export interface ByteSource {
  /** Bytes. */
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
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
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

/** Reads into the rest of a buffer. */
function readBytes(descriptor: number, buffer: Buffer, done: number, position: number): number {
  try {
    return readSync(descriptor, buffer, done, buffer.length - done, position);
  } catch (error) {
    throw new FormatError('file_unreadable', messageOf(error), position);
  }
}

function checkRange(offset: number, length: number, size: number): void {
  if (offset >= 0 && length >= 0 && offset + length <= size) return;
  throw new RangeError(`bytes ${offset} to ${offset + length} are not within ${size} bytes`);
}
