import type { Check, CheckTexts } from './check-texts.ts';
import { finding, type Span } from './finding.ts';
import type { Markup } from './find-markup.ts';
import { matchesOf } from './matches-of.ts';

/** A line end, or a line end as text: a backslash and an n. */
interface LineBreak extends Span {
  readonly kind: 'line end' | 'written \\n';
}

/** An escaped backslash comes first, so that its second half does not begin a written line break. */
const LINE_BREAK = /\\\\|\\n|\r\n|[\n\r]/g;

/** The line breaks of a text outside of its tags and placeholders, in their order. */
export function findLineBreaks({ masked }: Markup): LineBreak[] {
  const found: LineBreak[] = [];
  for (const { 0: text, index } of matchesOf(masked, LINE_BREAK)) {
    if (text === '\\\\') continue;
    const kind = text === '\\n' ? 'written \\n' : 'line end';
    found.push({ kind, start: index, end: index + text.length });
  }
  return found;
}

/** `line_break_mismatch`, for both kinds. */
export const checkLineBreaks: Check = function* (texts: CheckTexts) {
  const [source, target] = [findLineBreaks(texts.source), findLineBreaks(texts.target)];
  for (const kind of ['line end', 'written \\n'] as const) {
    const [before, after] = [count(source, kind), count(target, kind)];
    if (before === after) continue;
    const message = `the source has ${before} of the line break "${kind}", the target ${after}`;
    yield finding('line_break_mismatch', message, {
      severity: texts.input.sameLineBreaks === true ? 'error' : 'warning',
    });
  }
};

function count(breaks: readonly LineBreak[], kind: LineBreak['kind']): number {
  return breaks.filter((each) => each.kind === kind).length;
}
