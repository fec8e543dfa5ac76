import { failure, success, type Result } from '../result.ts';

export type ReleaseId = string & { readonly __brand: 'ReleaseId' };

/** Syntax of a release id; it is one URL segment and one file name without any escaping. */
export const RELEASE_ID_PATTERN = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?$/;

/**
 * Parses a release id: 1 to 128 of `A-Z a-z 0-9 . _ -`, beginning with a letter or digit and not ending in a dot.
 *
 * @returns the id, or one sentence that says what is wrong
 */
export function parseReleaseId(text: string): Result<ReleaseId, string> {
  if (!RELEASE_ID_PATTERN.test(text)) {
    return failure(
      'a release id is 1 to 128 characters of A-Z a-z 0-9 . _ -, begins with a letter or digit and does not end in a dot',
    );
  }
  return success(text as ReleaseId);
}
