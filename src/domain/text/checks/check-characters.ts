import type { CheckName } from './check-table.ts';
import { surplus, type Check } from './check-texts.ts';
import { codePointName, finding, type Span } from './finding.ts';
import { UTF_8 } from './field-encodings.ts';
import { MASK } from './find-markup.ts';
import { matchesOf } from './matches-of.ts';

const LONE_SURROGATE = /\p{Cs}/gu;
/** Characters that a target may have as often as its source, by check. */
const UNWANTED: readonly { check: CheckName; pattern: RegExp; what: string }[] = [
  { check: 'control_character', pattern: /[^\P{Cc}\t\n\r]/gu, what: 'the control character' },
  { check: 'replacement_character', pattern: /\uFFFD/g, what: 'the replacement character' },
  {
    check: 'bidi_control',
    pattern: /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g,
    what: 'the direction character',
  },
  {
    check: 'zero_width_character',
    // A zero-width joiner between two emoji makes one emoji of them.
    pattern:
      /[\u00AD\u180E\u200B\u200C\u2060-\u2064\uFEFF\u{E0001}\u{E0020}-\u{E007F}]|(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D|\u200D(?!\p{Extended_Pictographic})/gu,
    what: 'the zero-width character',
  },
];

interface FoundCharacter extends Span {
  readonly character: string;
}

/** Lone surrogates, and control and invisible characters that the source does not have. */
export const checkCharacters: Check = function* ({ source, target }) {
  for (const found of charactersOf(target.text, LONE_SURROGATE)) {
    const message = `the target has the lone surrogate ${codePointName(found.character)}`;
    yield finding('lone_surrogate', message, { target: found });
  }
  for (const { check, pattern, what } of UNWANTED) {
    const given = charactersOf(target.text, pattern);
    if (given.length === 0) continue;
    const more = surplus(given, charactersOf(source.text, pattern), ({ character }) => character);
    for (const found of more) {
      const message = `the target has ${what} ${codePointName(found.character)} more often than the source`;
      yield finding(check, message, { target: found });
    }
  }
};

/** Characters that the encoding or the font of the field does not have, each one once. */
export const checkCharset: Check = function* ({ input, target }) {
  const encoding = input.encoding ?? UTF_8;
  const { glyphs } = input;
  // Of UTF-8 only surrogates are left out, and they have a check of their own.
  if (encoding !== UTF_8) {
    for (const found of distinctCharacters(target.text)) {
      const codePoint = found.character.codePointAt(0) ?? 0;
      if (encoding.bytesOf(codePoint) !== null || !found.character.isWellFormed()) continue;
      const message = `${encoding.name} does not have ${named(found.character)}`;
      yield finding('unencodable_character', message, { target: found });
    }
  }
  if (glyphs === undefined) return;
  for (const found of distinctCharacters(target.masked)) {
    if (found.character === MASK || INVISIBLE.test(found.character)) continue;
    if (glyphs.has(found.character.codePointAt(0) ?? 0)) continue;
    const message = `the character set of the field does not have ${named(found.character)}`;
    yield finding('missing_glyph', message, { target: found });
  }
};

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}]/u;

function named(character: string): string {
  return `${JSON.stringify(character)} (${codePointName(character)})`;
}

function charactersOf(text: string, pattern: RegExp): FoundCharacter[] {
  return matchesOf(text, pattern).map(({ 0: character, index }) => ({
    character,
    start: index,
    end: index + character.length,
  }));
}

function* distinctCharacters(text: string): Generator<FoundCharacter> {
  const seen = new Set<string>();
  let start = 0;
  for (const character of text) {
    const end = start + character.length;
    if (!seen.has(character)) {
      seen.add(character);
      yield { character, start, end };
    }
    start = end;
  }
}
