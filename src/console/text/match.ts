/** Finds what a person means by a few typed characters; pure. */

/**
 * How well a text matches: 0 not at all; more is better. Every word must occur; a match at the start of the text or of one
 * of its words counts more.
 *
 * @param query as typed; an empty one matches everything equally
 */
export function matchScore(text: string, query: string): number {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0) return 1;
  const wanted = text.toLowerCase();
  let score = 0;
  for (const word of words) {
    const at = wanted.indexOf(word);
    if (at < 0) return 0;
    if (at === 0) score += 4;
    else if (/[^\p{L}\p{N}]/u.test(wanted.charAt(at - 1))) score += 2;
    else score += 1;
  }
  return score / words.length;
}

/**
 * The best matches, best first; equal ones keep their order.
 *
 * @param limit how many at most
 */
export function bestMatches<T>(
  items: readonly T[],
  query: string,
  { textOf, limit }: { textOf: (item: T) => string; limit: number },
): readonly T[] {
  return items
    .map((item) => ({ item, score: matchScore(textOf(item), query) }))
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
    .slice(0, limit)
    .map(({ item }) => item);
}
