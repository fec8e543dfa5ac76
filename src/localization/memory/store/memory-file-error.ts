/** Why a file of the Translation Memory cannot be used. */
type MemoryFileCode = 'invalid_path' | 'file_not_found' | 'unavailable';

/** A file of the Translation Memory that cannot be used. `code` is kept on the way to another thread. */
export class MemoryFileError extends Error {
  readonly code: MemoryFileCode;

  constructor(code: MemoryFileCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'MemoryFileError';
    this.code = code;
  }
}
