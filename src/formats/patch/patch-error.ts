export const PATCH_ERROR_CODES = {
  place_not_found: 'The file has no text at the path of the edit.',
  place_ambiguous: 'Several texts of the file have the path of the edit, or several edits have one path.',
  source_differs: 'The text at the path is not the source text of the edit.',
  unencodable_character: 'The encoding of the file has no form for a character of the target text.',
  character_not_allowed: 'The format cannot hold a character of the target text at this place.',
  text_too_long: 'The target text is longer than the format or its limits allow.',
  file_too_large: 'The patched file would be larger than its format allows.',
  not_writable: 'The format or the place can be read, but not written.',
  catalog_not_rewritten:
    'A catalog of a patched file cannot be read, or states a value that no known algorithm gives for the official file.',
  round_trip_failed: 'The target text does not read back from the patched file.',
} as const satisfies Record<string, string>;

export type PatchErrorCode = keyof typeof PATCH_ERROR_CODES;

/** An edit cannot be written. The file is not patched at all then. */
export class PatchError extends Error {
  readonly code: PatchErrorCode;
  /** The path of the edit; empty where the file as a whole is to blame. */
  readonly fieldPath: string;

  /** @param message what is wrong and what to do, without the path, which is prepended */
  constructor(code: PatchErrorCode, fieldPath: string, message: string) {
    super(fieldPath === '' ? message : `${fieldPath}: ${message}`);
    this.name = 'PatchError';
    this.code = code;
    this.fieldPath = fieldPath;
  }
}

/** A catalog that cannot be rewritten. @param path of the listed file; empty where the catalog is to blame */
export function notRewritten(message: string, path = ''): PatchError {
  return new PatchError('catalog_not_rewritten', path, message);
}

/**
 * Checks that a target text can be read again.
 *
 * @param limit bytes of one string in UTF-8; readers refuse a longer one
 * @throws PatchError `text_too_long`
 */
export function checkLength(fieldPath: string, target: string | Uint8Array, limit: number): void {
  // A code unit has at most three bytes.
  if (target.length * 3 <= limit) return;
  const bytes = typeof target === 'string' ? Buffer.byteLength(target) : target.length;
  if (bytes <= limit) return;
  throw new PatchError('text_too_long', fieldPath, `the target text has ${bytes} bytes, more than ${limit}`);
}
