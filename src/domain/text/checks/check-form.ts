import { primaryLanguage } from './check-language.ts';
import type { Check, CheckTexts } from './check-texts.ts';
import { displayWidth } from './display-width.ts';
import { finding, shown, type Span } from './finding.ts';
import { MASK } from './find-markup.ts';
import { matchesOf } from './matches-of.ts';

interface Repeat extends Span {
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
function longestRepeat(text: string, least: number): Repeat | null {
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

/** `whitespace_ends` */
export const checkWhitespace: Check = function* ({ source, target }) {
  const [before, after] = [endsOf(source.text), endsOf(target.text)];
  if (before.leading !== after.leading) {
    const message = `the target begins with ${shown(after.leading)}, the source with ${shown(before.leading)}`;
    yield finding('whitespace_ends', message, { target: { start: 0, end: after.leading.length } });
  }
  if (before.trailing !== after.trailing) {
    const message = `the target ends with ${shown(after.trailing)}, the source with ${shown(before.trailing)}`;
    const end = target.text.length;
    yield finding('whitespace_ends', message, { target: { start: end - after.trailing.length, end } });
  }
};

function endsOf(text: string): { leading: string; trailing: string } {
  // A pattern such as /\s+$/ takes quadratic time where white space stands within the text.
  const rest = text.trimStart();
  const leading = text.slice(0, text.length - rest.length);
  return { leading, trailing: rest.slice(rest.trimEnd().length) };
}

const PARTNERS: ReadonlyMap<string, string> = new Map(
  ['()', '（）', '[]', '［］', '{}', '｛｝', '「」', '『』', '【】', '《》', '〈〉', '〔〕', '“”'].map(
    (pair) => [pair[1] ?? '', pair[0] ?? ''],
  ),
);
const BRACKET = /[()（）[\]［］{}｛｝「」『』【】《》〈〉〔〕“”]/g;

/** `bracket_balance` */
export const checkBrackets: Check = function* ({ source, target }) {
  const after = aloneIn(target.masked);
  const first = after[0];
  if (first === undefined || after.length <= aloneIn(source.masked).length) return;
  const message = `${shown(target.text.slice(first.start, first.end))} has no partner`;
  yield finding('bracket_balance', message, { target: first });
};

/** Brackets without a partner, those that close nothing first. */
function aloneIn(text: string): Span[] {
  const open: Span[] = [];
  const alone: Span[] = [];
  for (const { 0: bracket, index } of matchesOf(text, BRACKET)) {
    const span = { start: index, end: index + 1 };
    const partner = PARTNERS.get(bracket);
    if (partner === undefined) open.push(span);
    else if (text[open.at(-1)?.start ?? -1] === partner) open.pop();
    else alone.push(span);
  }
  // Two lists joined by spreading arguments would overflow the stack on a long text.
  return alone.concat(open);
}

/** `repeated_characters`: from this many repetitions on, and only more than twice as many as in the source. */
const MIN_REPEATS = 5;

/** `repeated_characters` */
export const checkRepeats: Check = function* ({ source, target }) {
  const after = longestRepeat(target.masked, MIN_REPEATS);
  if (after === null || after.times <= 2 * (longestRepeat(source.masked, 2)?.times ?? 1)) return;
  const unit = target.text.slice(after.start, after.start + after.length);
  const message = `the target repeats ${shown(unit)} ${after.times} times`;
  yield finding('repeated_characters', message, { target: after });
};

const MIN_RATIO_WIDTH = 16;
const MIN_RATIO = 0.2;
const MAX_RATIO = 3;

/** `length_ratio` */
export const checkRatio: Check = function* ({ source, target }) {
  const before = displayWidth(source.masked.replaceAll(MASK, ''));
  if (before < MIN_RATIO_WIDTH) return;
  const after = displayWidth(target.masked.replaceAll(MASK, ''));
  const ratio = after / before;
  if (ratio >= MIN_RATIO && ratio <= MAX_RATIO) return;
  yield finding('length_ratio', `the source is ${before} columns wide, the target ${after}`);
};

const CJK = new Set(['zh', 'yue', 'cmn', 'lzh', 'ja', 'ko']);
/** Kinds of end punctuation, and behind what they may stand. */
const ENDS: readonly { kind: string; characters: string }[] = [
  { kind: 'a full stop', characters: '.。．｡।' },
  { kind: 'a question mark', characters: '?？؟' },
  { kind: 'an exclamation mark', characters: '!！' },
  { kind: 'an ellipsis', characters: '…‥⋯' },
  { kind: 'a colon', characters: ':：' },
  { kind: 'a comma', characters: ',，、､' },
];
const CLOSERS = /[\s"'”’»）)\]］}｝」』】》〉〕\uFFFC]/;

/** `end_punctuation` */
export const checkEnd: Check = function* ({ input, source, target }: CheckTexts) {
  const languages = [input.sourceLanguage, input.targetLanguage].map(primaryLanguage);
  if (languages.every((language) => CJK.has(language))) return;
  const [before, after] = [endOf(source.masked), endOf(target.masked)];
  if (before.kind === after.kind) return;
  const message = `the source ends with ${before.kind}, the target with ${after.kind}`;
  yield finding('end_punctuation', message, { source: before.span, target: after.span });
};

function endOf(text: string): { kind: string; span: Span } {
  let end = text.length;
  while (end > 0 && CLOSERS.test(text[end - 1] ?? '')) end -= 1;
  const span = { start: Math.max(0, end - 1), end };
  const last = text.slice(span.start, end);
  if (last === '.' && text.slice(end - 3, end) === '...') return { kind: 'an ellipsis', span };
  const kind = last === '' ? undefined : ENDS.find(({ characters }) => characters.includes(last))?.kind;
  return { kind: kind ?? 'no punctuation', span };
}
