import { distanceFrom } from './edit-distance.ts';
import {
  HIGHEST_INEXACT_SCORE,
  LOWEST_SIMILARITY,
  suggestMatch,
  type MatchRecord,
  type MemoryMatch,
} from './memory-match.ts';
import { comparedCodePoints, foldForSearch } from './normalize-text.ts';
import { substituteNumbers } from './number-match.ts';

const NUMBERS_SCORE = 98;
const PERCENT = 100;

/** The match of a record whose source differs in width and compatibility characters only. */
export function widthMatch<R extends MatchRecord>(record: R): MemoryMatch<R> {
  return suggestMatch(record, {
    match_type: 'normalized',
    score: HIGHEST_INEXACT_SCORE,
    penalties: [{ code: 'width_difference', points: 1 }],
  });
}

/**
 * The match of a record whose source differs in numbers only; it offers its target with the numbers of the query.
 *
 * @returns `null` when they differ in more, or when it is not certain which number of the target is which
 */
export function numbersMatch<R extends MatchRecord>(source: string, record: R): MemoryMatch<R> | null {
  const { source_text: knownSource, target_text: knownTarget } = record;
  const proposed_text = substituteNumbers({ source, knownSource, knownTarget });
  if (proposed_text === null) return null;
  const penalties = [{ code: 'numbers_differ', points: PERCENT - NUMBERS_SCORE }] as const;
  return suggestMatch(record, { match_type: 'numbers', score: NUMBERS_SCORE, penalties, proposed_text });
}

/** Lengths, in code points, of the texts that can be similar enough to one of `length`; both inclusive. */
export function similarLengths(length: number): { readonly least: number; readonly most: number } {
  return {
    least: Math.ceil((length * LOWEST_SIMILARITY) / PERCENT),
    most: Math.floor((length * PERCENT) / LOWEST_SIMILARITY),
  };
}

/**
 * Prepares a query for the comparison with many records.
 *
 * @returns gives the fuzzy match of a record, or `null` when it is less similar than {@link LOWEST_SIMILARITY}
 */
export function fuzzyMatcher(
  source: string,
  contextKey: string,
): <R extends MatchRecord>(record: R) => MemoryMatch<R> | null {
  const wanted = comparedCodePoints(source);
  const distance = distanceFrom(wanted);
  return (record) => {
    const known = comparedCodePoints(record.source_text);
    const longest = Math.max(wanted.length, known.length);
    const bound = Math.floor((longest * (PERCENT - LOWEST_SIMILARITY)) / PERCENT);
    const edits = longest === 0 ? null : distance.to(known, bound);
    if (edits === null) return null;
    const similarity = Math.floor((PERCENT * (longest - edits)) / longest);
    const score = Math.min(similarity, HIGHEST_INEXACT_SCORE);
    return suggestMatch(record, { match_type: 'fuzzy', score, contextKey });
  };
}

/**
 * The match of a record that contains a searched text in its source or its target, without regard to width and case.
 *
 * @returns gives the match, or `null`. Its score is the part of the searched text in the longer text, in percent.
 */
export function concordanceMatcher(
  text: string,
): <R extends MatchRecord>(record: R) => MemoryMatch<R> | null {
  const wanted = foldForSearch(text);
  return (record) => {
    const holders = [record.source_text, record.target_text].map(foldForSearch);
    const found = holders.filter((each) => each.includes(wanted));
    if (found.length === 0) return null;
    const shares = found.map((each) => Math.floor((PERCENT * wanted.length) / each.length));
    return { ...suggestMatch(record, { match_type: 'concordance', score: Math.max(...shares) }) };
  };
}
