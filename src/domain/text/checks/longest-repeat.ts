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
 */
export function longestRepeat(text: string): Repeat {
  let longest: Repeat = { start: 0, end: 0, length: 0, times: 1 };
  for (let length = 1; length <= MAX_LENGTH; length += 1) {
    let start = 0;
    for (let at = length; at <= text.length; at += 1) {
      if (at < text.length && text.charCodeAt(at) === text.charCodeAt(at - length)) continue;
      const times = Math.floor((at - start) / length);
      if (times > longest.times && LETTER.test(text.slice(start, start + length))) {
        longest = { start, end: start + times * length, length, times };
      }
      start = at - length + 1;
    }
  }
  return longest;
}
