import type { Check } from './check-texts.ts';
import { finding, type Span } from './finding.ts';
import type { Mark, Markup } from './find-markup.ts';

interface Ruby {
  readonly count: number;
  /** Ruby without a base or without a reading. */
  readonly incomplete: readonly Span[];
}

/** `ruby_incomplete` and `ruby_count`. */
export const checkRuby: Check = function* ({ source, target }) {
  if (!source.marks.some(isRuby) && !target.marks.some(isRuby)) return;
  const [before, after] = [rubyOf(source), rubyOf(target)];
  if (after.incomplete.length > before.incomplete.length) {
    for (const span of after.incomplete) {
      yield finding('ruby_incomplete', 'the ruby has no base or no reading', { target: span });
    }
  }
  if (after.count !== before.count) {
    yield finding('ruby_count', `the source has ${before.count} ruby, the target ${after.count}`);
  }
};

function isRuby({ kind }: Mark): boolean {
  return kind === 'ruby';
}

interface OpenRuby {
  readonly start: number;
  readonly baseStart: number;
  /** The reading as the value of the tag; `null` where it has a tag of its own. */
  readonly value: string | null;
  readingStart: number | null;
  readingEnd: number | null;
}

function rubyOf(markup: Markup): Ruby {
  const incomplete: Span[] = [];
  let count = 0;
  let open: OpenRuby | null = null;
  const finish = (end: number): void => {
    if (open === null) return;
    if (!isComplete(markup.text, open, end)) incomplete.push({ start: open.start, end });
    open = null;
  };
  for (const mark of markup.marks) {
    if (!isRuby(mark)) continue;
    const kind = partOf(mark);
    if (kind === 'whole' || kind === 'begin') count += 1;
    if (kind === 'begin') {
      finish(mark.start);
      open = begun(mark);
    } else if (kind === 'end') {
      finish(mark.start);
    } else if (kind === 'reading' && open !== null) {
      open.readingStart ??= mark.end;
      open.readingEnd = null;
    } else if (kind === 'reading end' && open !== null) {
      open.readingEnd ??= mark.start;
    } else if (kind === 'whole' && markup.text.startsWith('《》', mark.end - 2)) {
      incomplete.push({ start: mark.start, end: mark.end });
    }
  }
  finish(markup.text.length);
  return { count, incomplete };
}

type RubyPart = 'whole' | 'begin' | 'end' | 'reading' | 'reading end' | 'other';

function partOf({ name, isClosing }: Mark): RubyPart {
  if (name === '｜') return 'whole';
  if (name === 'ruby' || name === 'r') return isClosing ? 'end' : 'begin';
  if (name === 'rt') return isClosing ? 'reading end' : 'reading';
  return 'other';
}

function begun({ key, start, end }: Mark): OpenRuby {
  const equals = key.indexOf('=');
  const value = equals === -1 ? null : key.slice(equals + 1, -1).replace(/^["']|["']$/g, '');
  return { start, baseStart: end, value, readingStart: null, readingEnd: null };
}

function isComplete(text: string, ruby: OpenRuby, end: number): boolean {
  if (ruby.value !== null) return hasText(ruby.value) && hasText(text.slice(ruby.baseStart, end));
  if (ruby.readingStart === null) return false;
  const base = text.slice(ruby.baseStart, ruby.readingStart);
  return hasText(base) && hasText(text.slice(ruby.readingStart, ruby.readingEnd ?? end));
}

function hasText(text: string): boolean {
  return text.replace(/<[^<>]*>|\[[^[\]]*\]/g, '').trim() !== '';
}
