type TermErrorCode =
  | 'unknown_term'
  | 'term_exists'
  | 'term_conflict'
  | 'term_approved'
  | 'invalid_transition';

/** A refused change. Its code survives the way out of the thread. */
export class TermError extends Error {
  readonly code: TermErrorCode;

  constructor(code: TermErrorCode, message: string) {
    super(message);
    this.name = 'TermError';
    this.code = code;
  }
}
