/** A restore that is refused; the message says why and what to do. */
export class RestoreError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RestoreError';
  }
}
