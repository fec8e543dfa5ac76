import type { Span } from './finding.ts';

/** A part of a text that is repeated without a gap. */
interface Repeat extends Span {
  /** Code units of the repeated part. */
  readonly length: number;
  readonly times: number;
}

const MAX_LENGTH = 12;
const LETTER = /\p{L}/u;

/**
 * The part of at most 12 code units that follows itself most often, in time linear in the length of the text. Parts
 * without a letter do not count: dots, dashes and zeros are repeated in good texts.
 *
 * @param least the times that a part must be there, at least 2
 * @returns `null` without such a part
 */
export function longestRepeat(text: string, least: number): Repeat | null {
  let longest: Repeat | null = null;
  const longestPart = Math.min(MAX_LENGTH, Math.floor(text.length / least));
  for (let length = 1; length <= longestPart; length += 1) {
    let start = 0;
    for (let at = length; at <= text.length; at += 1) {
      if (at < text.length && text.charCodeAt(at) === text.charCodeAt(at - length)) continue;
      const times = Math.floor((at - start) / length);
      if (times >= least && times > (longest?.times ?? 1) && LETTER.test(text.slice(start, start + length))) {
        longest = { start, end: start + times * length, length, times };
      }
      start = at - length + 1;
    }
  }
  return longest;
}
