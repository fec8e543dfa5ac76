import type { FieldConstraints } from './check-input.ts';
import { HAN_LANGUAGES, primaryLanguage } from './check-language.ts';
import { characterWidth } from './display-width.ts';
import { UTF_8 } from './field-encodings.ts';

/** A usual character of a language that is written in wide characters, and of another one. */
const SAMPLES = { wide: '字', narrow: 'n' };
const WIDE: ReadonlySet<string> = new Set([...HAN_LANGUAGES, 'ja', 'ko']);
const LINE_END = /\r\n|\r|\n|\\n|<br>/g;

/**
 * Estimates how long a target may be to fit its field. Bytes and columns are converted with a typical character of the language. The checks measure exactly.
 *
 * @returns characters (code points), at least 1; `null` for a field without limits
 */
export function longestTarget(
  { maxBytes, maxCharacters, maxWidth, maxLines, encoding = UTF_8 }: FieldConstraints,
  source: string,
  targetLanguage: string,
): number | null {
  const character = SAMPLES[WIDE.has(primaryLanguage(targetLanguage)) ? 'wide' : 'narrow'];
  const lines = Math.min(maxLines ?? Infinity, (source.match(LINE_END)?.length ?? 0) + 1);
  const limits = [
    maxCharacters ?? Infinity,
    (maxBytes ?? Infinity) / (encoding.bytesOf(character.codePointAt(0) ?? 0) ?? 1),
    ((maxWidth ?? Infinity) * lines) / characterWidth(character),
  ];
  const least = Math.min(...limits);
  return least === Infinity ? null : Math.max(1, Math.floor(least));
}
