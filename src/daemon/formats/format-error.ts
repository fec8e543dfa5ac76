import type { ParseErrorCode } from '../../contract/reports/parse-error-codes.ts';

/** A file or a part of it cannot be read as its format says. */
export class FormatError extends Error {
  readonly code: ParseErrorCode;
  /** Bytes from the start of the file, entry or object that was read; `null` where no byte is to blame. */
  readonly offset: number | null;

  /** @param message what is wrong, without the offset, which is appended */
  constructor(code: ParseErrorCode, message: string, offset: number | null = null) {
    super(offset === null ? message : `${message} (at byte ${offset})`);
    this.name = 'FormatError';
    this.code = code;
    this.offset = offset;
  }
}
