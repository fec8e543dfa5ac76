import { FormatError } from '../format-error.ts';

const NO_MEMORY = 7;
const DISK_FULL = 13;
const CANNOT_OPEN = 14;
/** Extended codes of a write that the system refused: to write, to flush and to cut the file. */
const REFUSED_WRITES: ReadonlySet<number> = new Set([778, 1034, 1546]);
const MESSAGE_LENGTH = 200;

/**
 * The error of a reader or a writer for an error of SQLite. A disk that cannot be written says nothing about the database, so it is
 * an error of the system with the code of errno.
 *
 * @returns any other error as it is
 */
export function sqliteError(error: unknown): unknown {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return error;
  // Names of the file are part of a message, so it can have any length.
  const message = `SQLite: ${error.message.slice(0, MESSAGE_LENGTH)}`;
  if (REFUSED_WRITES.has(error.errcode)) return systemError('EIO', message);
  // The low byte is the primary code (sqlite.org/rescode.html).
  switch (error.errcode & 0xff) {
    case NO_MEMORY:
      return new FormatError('memory_exceeded', message);
    case DISK_FULL:
      return systemError('ENOSPC', message);
    case CANNOT_OPEN:
      return new FormatError('file_unreadable', message);
    default:
      return new FormatError('sqlite_invalid', message);
  }
}

function systemError(code: 'EIO' | 'ENOSPC', message: string): Error {
  return Object.assign(new Error(message), { code, syscall: 'write' });
}
