/** Cuts a text into what a reader must see: words, placeholders, tags, line breaks and characters without a shape; pure. */

import { marksOf, type Mark, type MarkHints } from './text-marks.ts';

/** A part of a text; the tokens joined by their place are the text. UTF-16 offsets. */
interface TextToken {
  readonly kind: 'text' | 'placeholder' | 'tag' | 'break' | 'invisible';
  readonly start: number;
  readonly end: number;
  readonly label: string;
  /** The meaning of the chip, for a tooltip; empty for plain text. */
  readonly meaning: string;
}

/** The place of a finding or a term in a text, in UTF-16 code units. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** A piece of one token that is covered by the same spans from its begin to its end. */
export interface TextRun {
  readonly token: TextToken;
  readonly text: string;
  readonly start: number;
  readonly spans: readonly number[];
}

const NAMES: Readonly<Record<number, readonly [label: string, meaning: string]>> = {
  0x09: ['tab', 'tab'],
  0xa0: ['nbsp', 'no-break space'],
  0xad: ['shy', 'soft hyphen'],
  0x34f: ['cgj', 'combining grapheme joiner'],
  0x61c: ['ALM', 'Arabic letter mark'],
  0x200b: ['zwsp', 'zero width space'],
  0x200c: ['zwnj', 'zero width non-joiner'],
  0x200d: ['zwj', 'zero width joiner'],
  0x200e: ['LRM', 'left-to-right mark'],
  0x200f: ['RLM', 'right-to-left mark'],
  0x202a: ['LRE', 'left-to-right embedding'],
  0x202b: ['RLE', 'right-to-left embedding'],
  0x202c: ['PDF', 'pop directional formatting'],
  0x202d: ['LRO', 'left-to-right override'],
  0x202e: ['RLO', 'right-to-left override'],
  0x2028: ['LS', 'line separator'],
  0x2029: ['PS', 'paragraph separator'],
  0x2060: ['wj', 'word joiner'],
  0x2066: ['LRI', 'left-to-right isolate'],
  0x2067: ['RLI', 'right-to-left isolate'],
  0x2068: ['FSI', 'first strong isolate'],
  0x2069: ['PDI', 'pop directional isolate'],
  0xfeff: ['bom', 'zero width no-break space'],
  0xfffd: ['U+FFFD', 'a character that could not be decoded'],
};

const SPECIAL =
  /\\\\|\\n|\r\n|[\n\r]|\u034f|[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u00a0\u115f\u1160\u3164\uffa0\ufffd]/gu;

const EMOJI_BEFORE = /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)$/u;
const EMOJI_BEHIND = /^\p{Extended_Pictographic}/u;

/** The tokens of a text, in their order. */
export function tokensOf(text: string, hints: MarkHints = {}): readonly TextToken[] {
  const tokens: TextToken[] = [];
  let end = 0;
  for (const mark of marksOf(text, hints)) {
    tokens.push(...plainTokens(text, end, mark.start), markToken(text, mark));
    ({ end } = mark);
  }
  tokens.push(...plainTokens(text, end, text.length));
  return tokens;
}

/** The characters of a text that nothing shows, and that can change how the rest is read. */
export function invisibleTokens(text: string): readonly TextToken[] {
  return tokensOf(text).filter(({ kind }) => kind === 'invisible');
}

/**
 * Cuts tokens at the borders of spans. A chip is never cut: a span that touches it covers it.
 *
 * @param spans in any order; they may overlap, and what is outside of the text is left out
 */
export function layerSpans(
  text: string,
  tokens: readonly TextToken[],
  spans: readonly TextSpan[],
): readonly TextRun[] {
  const borders = new Set(spans.flatMap(({ start, end }) => (end > start ? [start, end] : [])));
  const cuts = [...borders].toSorted((left, right) => left - right);
  const runs: TextRun[] = [];
  let next = 0;
  for (const token of tokens) {
    while ((cuts[next] ?? Infinity) <= token.start) next += 1;
    let { start } = token;
    while (token.kind === 'text' && (cuts[next] ?? Infinity) < token.end) {
      const end = cuts[next] ?? token.end;
      runs.push(runOf(text, token, { start, end }, spans));
      start = end;
      next += 1;
    }
    runs.push(runOf(text, token, { start, end: token.end }, spans));
  }
  return runs;
}

function runOf(text: string, token: TextToken, place: TextSpan, spans: readonly TextSpan[]): TextRun {
  const covering = spans.flatMap(({ start, end }, index) =>
    start < place.end && end > place.start ? [index] : [],
  );
  return { token, text: text.slice(place.start, place.end), start: place.start, spans: covering };
}

function markToken(text: string, { kind, start, end }: Mark): TextToken {
  const isTag = kind === 'tag' || kind === 'ruby';
  return {
    kind: isTag ? 'tag' : 'placeholder',
    start,
    end,
    label: text.slice(start, end),
    meaning: isTag ? 'tag: the target also needs it' : 'placeholder: the game replaces it',
  };
}

function plainTokens(text: string, from: number, to: number): TextToken[] {
  const part = text.slice(from, to);
  const tokens: TextToken[] = [];
  const add = (start: number, end: number): void => {
    if (end > start) tokens.push({ kind: 'text', start, end, label: text.slice(start, end), meaning: '' });
  };
  let end = from;
  for (const { 0: found, index } of part.matchAll(SPECIAL)) {
    const at = from + index;
    if (found === String.raw`\\` || joinsEmoji(text, at, found)) continue;
    add(end, at);
    end = at + found.length;
    tokens.push(specialToken(found, at));
  }
  add(end, to);
  return tokens;
}

function specialToken(found: string, start: number): TextToken {
  const place = { start, end: start + found.length };
  if (found === String.raw`\n`)
    return { kind: 'break', ...place, label: found, meaning: 'written line break' };
  if (/[\r\n]/.test(found)) return { kind: 'break', ...place, label: '↵', meaning: 'line break' };
  const code = found.codePointAt(0) ?? 0;
  const hex = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  const [label, meaning] = NAMES[code] ?? [hex, 'character without a shape'];
  return { kind: 'invisible', ...place, label, meaning: label === hex ? meaning : `${meaning} (${hex})` };
}

/** A joiner between two emoji, as in a family, is part of one picture. */
function joinsEmoji(text: string, at: number, found: string): boolean {
  if (found !== '\u200d') return false;
  return (
    EMOJI_BEFORE.test(text.slice(Math.max(0, at - 2), at)) && EMOJI_BEHIND.test(text.slice(at + 1, at + 3))
  );
}

const MOST_READ = 300;

/** A text as a reader of a list needs it: without its tags, in one line. Its page shows it as it is stored. */
export function readableText(text: string): string {
  const words = tokensOf(text.slice(0, MOST_READ))
    .map(({ kind, label, start, end }) =>
      kind === 'tag'
        ? ''
        : kind === 'break'
          ? ' '
          : kind === 'invisible'
            ? `⟦${label}⟧`
            : text.slice(start, end),
    )
    .join('')
    .trim();
  // A text of tags alone would have no name.
  return words === '' ? text.slice(0, MOST_READ) : words;
}
