import type { Span } from './finding.ts';
import { matchesOf } from './matches-of.ts';

/** Formatters of Unity's Smart Strings whose format is text, with their short names. */
const TEXT_FORMATTERS = new Set(
  'plural p choose c conditional cond list l ismatch isnull template t select'.split(' '),
);
const SMART = /^([^:{}]*):([A-Za-z]*)(\([^()]*\))?:/;
const SMART_SHORT = /^([^:{}|]*):[^:{}|]*(?:\{|\|)/;
const ICU = /^\s*([^\s,{}]+)\s*,\s*(plural|select|selectordinal)\s*,/;
const BRACE = /[{}]/g;
const NAME_END = /[:,{}]/g;
const NAME = /^[\w.[\]]+$/;

interface BracePlaceholder {
  /** The part that must not change, in braces. */
  readonly key: string;
  /** The names in its alternatives, which are text. */
  readonly inner: readonly string[];
}

/** The positions of the closing braces by the positions of the opening ones. Others stand for themselves. */
export function matchBraces(text: string): ReadonlyMap<number, number> {
  const closes = new Map<number, number>();
  const open: number[] = [];
  for (const { 0: brace, index } of matchesOf(text, BRACE)) {
    if (brace === '{') {
      open.push(index);
      continue;
    }
    const start = open.pop();
    if (start !== undefined) closes.set(start, index);
  }
  return closes;
}

/**
 * Reads a placeholder in braces. Of a plural or a choice of Unity's Smart Strings and of ICU messages only the name, the
 * kind and the options are fixed: `{0:plural:1 item|{} items}` gives `{0:plural}`. Others are fixed as they are.
 */
export function bracePlaceholder(
  text: string,
  open: number,
  close: number,
  closes: ReadonlyMap<number, number>,
): BracePlaceholder {
  const content = text.slice(open + 1, close);
  const icu = ICU.exec(content);
  const fixed = icu === null ? fixedPart(content) : `${icu[1]},${icu[2]}`;
  if (fixed === null) return { key: `{${content}}`, inner: [] };
  return {
    key: `{${fixed}}`,
    inner: namesWithin({ start: open, end: close }, text, closes, icu !== null),
  };
}

function fixedPart(content: string): string | null {
  const smart = SMART.exec(content);
  if (smart !== null && TEXT_FORMATTERS.has(smart[2]?.toLowerCase() ?? '')) {
    return `${smart[1]}:${smart[2]}${smart[3] ?? ''}`;
  }
  const short = SMART_SHORT.exec(content);
  return short === null ? null : `${short[1]}:`;
}

/**
 * The names of the placeholders in the alternatives. The braces of an ICU alternative hold text, and a placeholder stands
 * in every second level.
 */
function namesWithin(
  range: Span,
  text: string,
  closes: ReadonlyMap<number, number>,
  isIcu: boolean,
): string[] {
  const names = new Set<string>();
  const ends: number[] = [];
  for (let at = range.start; at !== -1 && at < range.end; at = text.indexOf('{', at + 1)) {
    const close = closes.get(at);
    if (close === undefined) continue;
    while ((ends.at(-1) ?? Infinity) < at) ends.pop();
    ends.push(close);
    if (isIcu && ends.length % 2 === 0) continue;
    NAME_END.lastIndex = at + 1;
    const name = text.slice(at + 1, NAME_END.exec(text)?.index ?? close);
    if (at !== range.start && NAME.test(name)) names.add(name);
  }
  return [...names];
}
