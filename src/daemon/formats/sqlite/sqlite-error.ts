import { FormatError } from '../format-error.ts';

const NO_MEMORY = 7;
const CANNOT_OPEN = 14;
const MESSAGE_LENGTH = 200;

/**
 * The error of a reader for an error of SQLite.
 *
 * @returns any other error as it is
 */
export function sqliteError(error: unknown): unknown {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return error;
  // Names of the file are part of a message, so it can have any length.
  const message = `SQLite: ${error.message.slice(0, MESSAGE_LENGTH)}`;
  // The low byte is the primary code (sqlite.org/rescode.html).
  switch (error.errcode & 0xff) {
    case NO_MEMORY:
      return new FormatError('memory_exceeded', message);
    case CANNOT_OPEN:
      return new FormatError('file_unreadable', message);
    default:
      return new FormatError('sqlite_invalid', message);
  }
}
