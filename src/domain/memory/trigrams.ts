import { splitPlaceholders } from '../text/placeholders.ts';
import { foldForSearch } from './normalize-text.ts';

/** Code points of a trigram. Shorter texts have none and are found by their beginning instead. */
export const TRIGRAM_LENGTH = 3;

/** The different trigrams of a folded text, in the order of their first occurrence. */
export function trigramsOf(folded: string): readonly string[] {
  // Where each code point begins, and where the text ends.
  const starts: number[] = [];
  for (let at = 0; at < folded.length; at += (folded.codePointAt(at) ?? 0) > 0xff_ff ? 2 : 1) starts.push(at);
  starts.push(folded.length);
  const found = new Set<string>();
  for (let first = 0; first + TRIGRAM_LENGTH < starts.length; first += 1) {
    found.add(folded.slice(starts[first], starts[first + TRIGRAM_LENGTH]));
  }
  return [...found];
}

/** How many trigrams of a searched text the index looks up at most. Its results are then compared in full. */
const SEARCHED_IN_ORDER = 32;

/** The FTS5 expression that finds texts which may contain a text; empty for one of fewer than three code points. */
export function allTrigrams(text: string): string {
  return trigramsOf(text).slice(0, SEARCHED_IN_ORDER).map(quotedTrigram).join(' AND ');
}

/** A trigram as FTS5 expressions write it. */
export function quotedTrigram(trigram: string): string {
  return `"${trigram.replaceAll('"', '""')}"`;
}

/**
 * The trigrams by which similar texts are searched: those outside of placeholders, or all where these are none. A
 * similar text may have other placeholders.
 */
export function searchedTrigrams(normalized: string): readonly string[] {
  const plain = splitPlaceholders(normalized).filter((_, index) => index % 2 === 0);
  const found = new Set(plain.flatMap((part) => trigramsOf(foldForSearch(part))));
  return found.size > 0 ? [...found] : trigramsOf(foldForSearch(normalized));
}

/**
 * The rarest of some trigrams: they lead to few candidates, and a similar text has at least one of them. Trigrams that no
 * record has lead nowhere and are left out.
 *
 * @param frequencies in how many records each trigram occurs
 */
export function rarestTrigrams(
  frequencies: ReadonlyMap<string, number>,
  {
    count,
    records,
  }: {
    readonly count: number;
    /** Most records in which the chosen trigrams occur together; the rarest one is chosen even when it has more. */
    readonly records: number;
  },
): readonly string[] {
  const rarest = [...frequencies].filter(([, frequency]) => frequency > 0).sort(([, a], [, b]) => a - b);
  const chosen: string[] = [];
  let total = 0;
  for (const [trigram, frequency] of rarest.slice(0, count)) {
    total += frequency;
    if (chosen.length > 0 && total > records) break;
    chosen.push(trigram);
  }
  return chosen;
}
