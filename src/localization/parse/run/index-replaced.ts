import { errorCode } from '../../../platform/files/error-code.ts';

/** Why an empty index took the place of another one. */
export interface IndexReplacement {
  /** Unix milliseconds. */
  readonly at: number;
  readonly reason: string;
}

/** The code of the error that says that the index was replaced during this call. */
export const INDEX_REPLACED = 'index_replaced';

export function isIndexReplaced(error: unknown): boolean {
  return errorCode(error) === INDEX_REPLACED;
}
