import { bracePlaceholder, matchBraces } from './brace-placeholder.ts';
import type { Span } from './finding.ts';
import { matchesOf } from './matches-of.ts';

/** A part of a text that a game replaces or interprets. */
export interface Mark extends Span {
  readonly kind: 'placeholder' | 'printf' | 'tag' | 'ruby';
  /** Marks of equal keys are equal for a game. */
  readonly key: string;
  /** Names that the alternatives of a placeholder use. */
  readonly inner: readonly string[];
  /** The name of a tag in lower case, and empty for others. */
  readonly name: string;
  readonly isClosing: boolean;
}

export interface Markup {
  readonly text: string;
  readonly marks: readonly Mark[];
  /** The text with U+FFFC for each code unit of a mark, so that positions stay the same. */
  readonly masked: string;
}

interface MarkupOptions {
  readonly tags: boolean;
  /** Names in lower case that make `[name]` a tag; see {@link closedSquareNames}. */
  readonly squareNames: ReadonlySet<string>;
  readonly findPlaceholders: ((text: string) => readonly Span[]) | undefined;
}

/** Stands for a code unit of a mark: the object replacement character. */
export const MASK = '\uFFFC';

// Their lengths are bounded or end at the next opening character, so that no text takes quadratic time.
const PRINTF = /%(?:\d{1,3}\$)?[-+0#]{0,5}\d{0,9}(?:\.\d{1,9})?[sdifuxXcegG](?![A-Za-z])/y;
const ANGLE_TAG = /<\/?[A-Za-z#][^<>]*>/y;
const SQUARE_TAG = /\[\/?[A-Za-z][^[\]]*\]/y;
/** Ruby of Aozora Bunko: the base behind a bar, the reading in double angle brackets. */
const BAR_RUBY = /｜[^｜《》\n]+《[^《》\n]*》/y;
const TAG_NAME = /^.\/?([A-Za-z][\w-]*|#)/;
const CLOSED_SQUARE = /\[\/([A-Za-z][\w-]*)\]/g;
const RUBY_NAMES = new Set(['ruby', 'rt', 'rp', 'rb']);

/** The names of the square tags that a text closes. `[OK]` is text, `[b]` is a tag because of `[/b]`. */
export function closedSquareNames(text: string): string[] {
  return matchesOf(text, CLOSED_SQUARE).map(([, name = '']) => name.toLowerCase());
}

/** Finds placeholders and tags in their order, without overlap, in time linear in the length of the text. */
export function findMarkup(text: string, options: MarkupOptions): Markup {
  if (options.findPlaceholders === undefined && text.search(STARTS) === -1)
    return { text, marks: [], masked: text };
  const marks = [...findMarks(text, options)];
  const parts: string[] = [];
  let end = 0;
  for (const mark of marks) {
    parts.push(text.slice(end, mark.start), MASK.repeat(mark.end - mark.start));
    end = mark.end;
  }
  parts.push(text.slice(end));
  return { text, marks, masked: parts.join('') };
}

const STARTS = /[{$#%<[｜]/g;

function* findMarks(text: string, options: MarkupOptions): Generator<Mark> {
  const closes = matchBraces(text);
  const configured = (options.findPlaceholders?.(text) ?? []).filter(({ start, end }) => end > start);
  let next = 0;
  let at = 0;
  while (at < text.length) {
    while ((configured[next]?.start ?? Infinity) < at) next += 1;
    const own = configured[next];
    STARTS.lastIndex = at;
    const found = STARTS.exec(text)?.index ?? Infinity;
    if (own !== undefined && own.start <= found) {
      yield plainMark('placeholder', text.slice(own.start, own.end), own);
      at = own.end;
      continue;
    }
    if (found === Infinity) return;
    const mark = markAt(text, found, closes, options);
    if (mark !== null) yield mark;
    // `%%` is a percent sign, not the start of a directive.
    at = mark?.end ?? found + (text.startsWith('%%', found) ? 2 : 1);
  }
}

function markAt(
  text: string,
  at: number,
  closes: ReadonlyMap<number, number>,
  options: MarkupOptions,
): Mark | null {
  switch (text[at]) {
    case '%': {
      const directive = matchAt(PRINTF, text, at);
      return directive === null ? null : plainMark('printf', directive, spanAt(at, directive));
    }
    case '<': {
      const tag = options.tags ? matchAt(ANGLE_TAG, text, at) : null;
      return tag === null ? null : tagMark(tag, at);
    }
    case '[':
      return options.tags ? squareTag(text, at, options.squareNames) : null;
    case '｜': {
      const ruby = matchAt(BAR_RUBY, text, at);
      return ruby === null ? null : { ...plainMark('ruby', '｜', spanAt(at, ruby)), name: '｜' };
    }
    default: {
      // `{x}`, `${x}` and `#{x}`.
      const open = text[at] === '{' ? at : at + 1;
      const close = closes.get(open);
      if (close === undefined) return null;
      const { key, inner } = bracePlaceholder(text, open, close, closes);
      const span = { start: at, end: close + 1 };
      return { ...plainMark('placeholder', text.slice(at, open) + key, span), inner };
    }
  }
}

function squareTag(text: string, at: number, names: ReadonlySet<string>): Mark | null {
  const tag = matchAt(SQUARE_TAG, text, at);
  if (tag === null) return null;
  const mark = tagMark(tag, at);
  const hasValue = tag[mark.name.length + 1] === '=';
  return mark.name !== '' && (mark.isClosing || hasValue || names.has(mark.name)) ? mark : null;
}

function tagMark(tag: string, at: number): Mark {
  const name = TAG_NAME.exec(tag)?.[1] ?? '';
  const isClosing = tag[1] === '/';
  const lower = name.toLowerCase();
  const rest = tag.slice(1 + (isClosing ? 1 : 0) + name.length);
  const isRuby = RUBY_NAMES.has(lower) || (lower === 'r' && (isClosing || rest.startsWith('=')));
  return {
    kind: isRuby ? 'ruby' : 'tag',
    key: `${tag[0]}${isClosing ? '/' : ''}${lower}${rest}`,
    inner: [],
    // TextMeshPro: `<#ff8800>` is a short form of `<color=#ff8800>`, and `</color>` closes it.
    name: lower === '#' ? 'color' : lower,
    isClosing,
    ...spanAt(at, tag),
  };
}

function plainMark(kind: Mark['kind'], key: string, { start, end }: Span): Mark {
  return { kind, key, inner: [], name: '', isClosing: false, start, end };
}

function spanAt(start: number, text: string): Span {
  return { start, end: start + text.length };
}

function matchAt(pattern: RegExp, text: string, at: number): string | null {
  // eslint-disable-next-line no-param-reassign -- a sticky pattern begins at its lastIndex
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}
