import type { DecodedText, NamedEncoding } from './decode-text.ts';

/** Characters beyond ASCII. */
// oxlint-disable-next-line no-control-regex -- ASCII includes the control characters
export const BEYOND_ASCII = /[^\x00-\x7F]/gu;

/**
 * The encoding that a file declares for itself, where it has only ASCII so far and programs would not read other characters as
 * UTF-8.
 *
 * @param named by the rule, which knows better than the file
 * @param declaration has the name of the encoding as its first group
 * @returns `null` where any character can be written
 */
export function declaredEncoding(
  { text, byteOrderMark }: DecodedText,
  named: NamedEncoding | undefined,
  declaration: RegExp,
): string | null {
  if (named !== undefined || byteOrderMark) return null;
  const declared = declaration.exec(text)?.[1];
  // Templates of gettext say "CHARSET".
  if (declared === undefined || /^(?:utf|charset$)/i.test(declared)) return null;
  return text.search(BEYOND_ASCII) === -1 ? declared : null;
}
