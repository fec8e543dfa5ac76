/** The part of a `qvalue` and its name in a list of codings. */
const CODING = /^([\w!#$%&'*+.^`|~-]+)\s*(?:;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i;

/**
 * Chooses the coding of an answer. A coding that the client does not name is not used, unless it takes any with `*`; an
 * item that cannot be read counts as absent. The content itself (`identity`) is the last choice and never refused, because
 * every client can read it.
 *
 * @param available the best first
 *
 * Source: RFC 9110, section 12.5.3.
 */
export function chooseCoding<C extends string>(
  header: string | undefined,
  available: readonly C[],
): C | 'identity' {
  const weights = new Map<string, number>();
  for (const item of (header ?? '').split(',')) {
    const [, name, weight = '1'] = CODING.exec(item.trim()) ?? [];
    if (name !== undefined) weights.set(name.toLowerCase(), Number(weight));
  }
  const weightOf = (coding: C): number => weights.get(coding) ?? weights.get('*') ?? 0;
  const [best] = available
    .filter((coding) => weightOf(coding) > 0)
    .sort((left, right) => weightOf(right) - weightOf(left));
  return best ?? 'identity';
}
