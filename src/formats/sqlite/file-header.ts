import { closeSync, readSync } from 'node:fs';
import { openSync, writeSync } from '../../platform/files/file-changes.ts';
import { FormatError } from '../format-error.ts';

/** The header of a database (sqlite.org/fileformat2.html, section 1.3); all integers are big-endian. */
const HEADER_BYTES = 100;
const WRITE_VERSION = 18;
const READ_VERSION = 19;
const CHANGE_COUNTER = 24;
/** Behind the counters of pages and free pages. */
const SCHEMA_COOKIE = 40;
const VERSION_VALID_FOR = 92;
const LIBRARY_VERSION = 96;
const ROLLBACK = 1;

interface FileHeader {
  readonly writeVersion: number;
  readonly readVersion: number;
  readonly changeCounter: number;
  readonly libraryVersion: number;
}

/**
 * Prepares a copy for a change. A database in WAL mode is changed as one without, because WAL writes other files and
 * leaves other bytes behind.
 *
 * @returns the header, for {@link restoreHeader}
 */
export function prepareHeader(path: string): FileHeader {
  return changeHeader(path, (bytes) => {
    const header: FileHeader = {
      writeVersion: bytes.readUInt8(WRITE_VERSION),
      readVersion: bytes.readUInt8(READ_VERSION),
      changeCounter: bytes.readUInt32BE(CHANGE_COUNTER),
      libraryVersion: bytes.readUInt32BE(LIBRARY_VERSION),
    };
    bytes.writeUInt8(ROLLBACK, WRITE_VERSION);
    bytes.writeUInt8(ROLLBACK, READ_VERSION);
    return header;
  });
}

/**
 * Writes what must not depend on how SQLite made the change, or on its version: the modes of the original, its change
 * counter plus one, and the library version of the original.
 */
export function restoreHeader(path: string, header: FileHeader): void {
  const counter = (header.changeCounter + 1) >>> 0;
  changeHeader(path, (bytes) => {
    bytes.writeUInt8(header.writeVersion, WRITE_VERSION);
    bytes.writeUInt8(header.readVersion, READ_VERSION);
    bytes.writeUInt32BE(counter, CHANGE_COUNTER);
    // The size in the header counts only where these two agree.
    bytes.writeUInt32BE(counter, VERSION_VALID_FOR);
    bytes.writeUInt32BE(header.libraryVersion, LIBRARY_VERSION);
  });
}

function changeHeader<Result>(path: string, change: (bytes: Buffer) => Result): Result {
  const descriptor = openSync(path, 'r+');
  try {
    const bytes = Buffer.alloc(HEADER_BYTES);
    if (readSync(descriptor, bytes, 0, HEADER_BYTES, 0) < HEADER_BYTES) {
      throw new FormatError('sqlite_invalid', 'the file has no header of SQLite');
    }
    const result = change(bytes);
    writeSync(descriptor, bytes, 0, HEADER_BYTES, 0);
    return result;
  } finally {
    closeSync(descriptor);
  }
}

/** Whether two databases have the same header, apart from what every change of a row changes: counters and page counts. */
export function hasSameHeader(path: string, otherPath: string): boolean {
  const [header, other] = [path, otherPath].map((each) => {
    const bytes = readHeader(each);
    bytes.fill(0, CHANGE_COUNTER, SCHEMA_COOKIE);
    return bytes.fill(0, VERSION_VALID_FOR, VERSION_VALID_FOR + 4);
  });
  return other !== undefined && header?.equals(other) === true;
}

function readHeader(path: string): Buffer {
  const descriptor = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(HEADER_BYTES);
    readSync(descriptor, bytes, 0, HEADER_BYTES, 0);
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}
