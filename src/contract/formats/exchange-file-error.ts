export type ExchangeFileReason =
  | 'encoding_invalid'
  | 'syntax_invalid'
  | 'limit_exceeded'
  | 'structure_invalid'
  | 'character_unsupported';

/** A file in exchange cannot be read or written. Nothing of it counts. */
export class ExchangeFileError extends Error {
  override readonly name = 'ExchangeFileError';
  readonly reason: ExchangeFileReason;
  /** The line in the file from 1, or `null` when the file is written. */
  readonly line: number | null;

  constructor(reason: ExchangeFileReason, message: string, line: number | null) {
    super(line === null ? message : `line ${line}: ${message}`);
    this.reason = reason;
    this.line = line;
  }
}
