import { mismatches, type Check } from './check-texts.ts';
import { finding, shown } from './finding.ts';
import type { Mark } from './find-markup.ts';

/** Tags that nothing closes, of TextMeshPro, HTML and BBCode. */
const VOID_TAGS = new Set('br sprite space pos page quad nbsp zwsp zwj shy cr img hr wbr'.split(' '));

/** `tag_mismatch` and `tag_nesting`. Ruby has its own checks. */
export const checkTags: Check = function* ({ input, source, target }) {
  const expected = source.marks.filter(isTag);
  const given = target.marks.filter(isTag);
  if (expected.length + given.length === 0) return;
  const texts = { source: source.text, target: target.text };
  yield* mismatches('tag_mismatch', 'tag', { source: expected, target: given }, ({ start, end }, side) =>
    texts[side].slice(start, end),
  );
  const mustClose = input.tagGrammar === 'angle';
  if (badlyNested(expected, mustClose) !== null) return;
  const flaw = badlyNested(given, mustClose);
  if (flaw === null) return;
  const what = flaw.isClosing ? 'closes nothing, or a tag that is not the last open one' : 'is not closed';
  const message = `the tag ${shown(target.text.slice(flaw.start, flaw.end))} ${what}`;
  yield finding('tag_nesting', message, { target: flaw });
};

function isTag({ kind }: Mark): boolean {
  return kind === 'tag';
}

/**
 * The first closing tag that closes no open tag. A closing tag also ends the tags that were opened behind its own, so of
 * two overlapping tags the second one is no longer open. Tags that are never closed are legal, unless each must be closed:
 * then the first one that is not.
 */
function badlyNested(marks: readonly Mark[], mustClose: boolean): Mark | null {
  const open: Mark[] = [];
  const counts = new Map<string, number>();
  for (const mark of marks) {
    const { name } = mark;
    if (!mark.isClosing) {
      if (isVoid(mark)) continue;
      open.push(mark);
      counts.set(name, (counts.get(name) ?? 0) + 1);
      continue;
    }
    if ((counts.get(name) ?? 0) === 0) return mark;
    for (let top = open.pop(); top !== undefined; top = open.pop()) {
      counts.set(top.name, (counts.get(top.name) ?? 0) - 1);
      if (top.name === name) break;
      if (mustClose) return top;
    }
  }
  return mustClose ? (open[0] ?? null) : null;
}

function isVoid({ name, key }: Mark): boolean {
  return VOID_TAGS.has(name) || key.endsWith('/>') || key.endsWith('/]');
}
