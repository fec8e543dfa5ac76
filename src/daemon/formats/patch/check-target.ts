import { PatchError } from './patch-error.ts';

/**
 * Checks that a target text can be read again.
 *
 * @param limit bytes of one string in UTF-8; readers refuse a longer one
 * @throws PatchError `text_too_long`
 */
export function checkLength(fieldPath: string, target: string, limit: number): void {
  // A code unit has at most three bytes.
  if (target.length * 3 <= limit) return;
  const bytes = Buffer.byteLength(target);
  if (bytes <= limit) return;
  throw new PatchError('text_too_long', fieldPath, `the target text has ${bytes} bytes, more than ${limit}`);
}
