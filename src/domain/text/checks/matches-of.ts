/**
 * The matches of a pattern in a text. Unlike `matchAll` it makes no copy of the pattern and no iterator, which cost more than the
 * search in a short text.
 *
 * @param pattern with the flag `g` or `y`; it must not match an empty text
 */
export function matchesOf(text: string, pattern: RegExp): readonly RegExpExecArray[] {
  const found: RegExpExecArray[] = [];
  // eslint-disable-next-line no-param-reassign -- the search begins at the lastIndex
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) found.push(match);
  return found;
}
