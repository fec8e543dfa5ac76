import type { ParseErrorCode } from '../../../contract/reports/parse-error-codes.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { PatchError, type PatchErrorCode } from '../../../formats/patch/patch-error.ts';

export class PlacedError extends Error {
  readonly code: PatchErrorCode | ParseErrorCode;
  /** The file inside of the container; `null` for the container itself. */
  readonly archiveEntry: string | null;
  /** `null` where the file as a whole is to blame. */
  readonly fieldPath: string | null;

  constructor(error: PatchError | FormatError, archiveEntry: string | null) {
    super(error.message, { cause: error });
    this.name = 'PlacedError';
    this.code = error.code;
    this.archiveEntry = archiveEntry;
    this.fieldPath = error instanceof PatchError && error.fieldPath !== '' ? error.fieldPath : null;
  }
}

/** Gives an error of a format its place; other errors, and those that have one, stay as they are. */
export function placedError(error: unknown, archiveEntry: string | null): unknown {
  const isOfFormat = error instanceof PatchError || error instanceof FormatError;
  return isOfFormat ? new PlacedError(error, archiveEntry) : error;
}

/** Runs a step inside of the file of a field, whose path precedes that of its errors. */
export function inField<Result>(fieldPath: string, step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    const { code, message, fieldPath: inner } = error;
    const bare = inner !== '' && message.startsWith(`${inner}: `) ? message.slice(inner.length + 2) : message;
    throw new PatchError(code, `${fieldPath}#${inner}`, bare);
  }
}
