import { failure, success, type Result } from '../result.ts';
import { findPlaceholders } from '../text/placeholders.ts';
import { countText } from '../count-text.ts';

/** How a placeholder is written for a provider. Models differ in which tokens they leave alone. */
export const MASK_STYLES = ['xml', 'brackets', 'private-use'] as const;

export type MaskStyle = (typeof MASK_STYLES)[number];

export interface MaskedText {
  readonly text: string;
  /** The text behind each token; the token of `originals[0]` has the number 1. */
  readonly originals: readonly string[];
}

interface Grammar {
  /** The tokens of the style. Providers add spaces, so these count as the same token. */
  readonly pattern: RegExp;
  readonly write: (number: number) => string;
  readonly numberOf: (token: string) => number;
}

const FIRST_PRIVATE = 0xe0_00;
/** Tokens of one text: the size of the private use area, U+E000 to U+F8FF. */
const MAX_TOKENS = 6_400;

const digitsOf = (token: string): number => Number(/\d+/.exec(token)?.[0]);

const GRAMMARS: Readonly<Record<MaskStyle, Grammar>> = {
  xml: {
    pattern: /<x id="\d{1,5}"\s?\/>/g,
    write: (number) => `<x id="${number}"/>`,
    numberOf: digitsOf,
  },
  brackets: {
    pattern: /\[\[ ?\d{1,5} ?\]\]/g,
    write: (number) => `[[${number}]]`,
    numberOf: digitsOf,
  },
  'private-use': {
    pattern: /[\uE000-\uF8FF]/g,
    write: (number) => String.fromCharCode(FIRST_PRIVATE + number - 1),
    numberOf: (token) => token.charCodeAt(0) - FIRST_PRIVATE + 1,
  },
};

/** Stands for a token while other placeholders are searched; no placeholder contains it. */
const TOKEN_GAP = '\0';

interface Span {
  readonly start: number;
  readonly text: string;
}

/** Every placeholder, and every part that looks like a token, in their order and without overlaps. */
function maskedSpans(text: string, { pattern }: Grammar): Span[] {
  const spans: Span[] = [];
  let from = 0;
  for (const found of findPlaceholders(text)) {
    const start = text.indexOf(found, from);
    spans.push(...tokensBetween(text, from, start, pattern), { start, text: found });
    from = start + found.length;
  }
  return [...spans, ...tokensBetween(text, from, text.length, pattern)];
}

function tokensBetween(text: string, from: number, to: number, pattern: RegExp): Span[] {
  return [...text.slice(from, to).matchAll(pattern)].map((match) => ({
    start: from + match.index,
    text: match[0],
  }));
}

function replaceSpans(text: string, spans: readonly Span[], replace: (span: Span) => string): string {
  let result = '';
  let from = 0;
  for (const span of spans) {
    result += text.slice(from, span.start) + replace(span);
    from = span.start + span.text.length;
  }
  return result + text.slice(from);
}

/**
 * Replaces the placeholders and tags of a text by tokens. Equal placeholders get the same token. A part of the text that
 * already looks like a token is replaced too, so that {@link restorePlaceholders} always gives the text back.
 *
 * @returns `null` when the text has more than 6,400 different placeholders
 */
export function maskPlaceholders(text: string, style: MaskStyle): MaskedText | null {
  const grammar = GRAMMARS[style];
  const spans = maskedSpans(text, grammar);
  const numbers = new Map<string, number>();
  for (const span of spans) {
    if (!numbers.has(span.text)) numbers.set(span.text, numbers.size + 1);
  }
  if (numbers.size > MAX_TOKENS) return null;
  const masked = replaceSpans(text, spans, (span) => grammar.write(numbers.get(span.text) ?? 0));
  return { text: masked, originals: [...numbers.keys()] };
}

/** The token with a number, from 1 on. */
export function tokenOf(style: MaskStyle, number: number): string {
  return GRAMMARS[style].write(number);
}

/**
 * Masks a second text, such as an example of the memory, with the tokens of a first one.
 *
 * @returns `null` when the text has a placeholder that the first text does not have
 */
export function maskAlike(text: string, originals: readonly string[], style: MaskStyle): string | null {
  const grammar = GRAMMARS[style];
  const spans = maskedSpans(text, grammar);
  if (spans.some((span) => !originals.includes(span.text))) return null;
  return replaceSpans(text, spans, (span) => grammar.write(originals.indexOf(span.text) + 1));
}

/**
 * Puts the placeholders back into the translation of a masked text.
 *
 * @returns an error that names the tokens or placeholders that are missing or too many: their multisets must be equal
 */
export function restorePlaceholders(
  translated: string,
  masked: MaskedText,
  style: MaskStyle,
): Result<string, string> {
  const grammar = GRAMMARS[style];
  const wanted = countMarks(masked.text, grammar);
  const found = countMarks(translated, grammar);
  for (const mark of new Set([...wanted.keys(), ...found.keys()])) {
    const [expected, actual] = [wanted.get(mark) ?? 0, found.get(mark) ?? 0];
    if (expected !== actual) {
      return failure(
        `${mark} stands ${countText(actual, 'time')} in the translation and ${countText(expected, 'time')} in the source`,
      );
    }
  }
  return success(
    translated.replaceAll(grammar.pattern, (token) => masked.originals[grammar.numberOf(token) - 1] ?? token),
  );
}

/** Counts the tokens of a masked text, and the placeholders that are written out. */
function countMarks(text: string, { pattern, numberOf }: Grammar): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (mark: string): void => {
    counts.set(mark, (counts.get(mark) ?? 0) + 1);
  };
  for (const token of text.match(pattern) ?? []) add(`placeholder ${numberOf(token)}`);
  for (const stray of findPlaceholders(text.replaceAll(pattern, TOKEN_GAP))) add(JSON.stringify(stray));
  return counts;
}
