import type { CompiledGlossary } from './compile-glossary.ts';
import type { SearchedText, TermMatch } from './find-terms.ts';
import type { BoundaryTest } from './boundary.ts';
import type { FoldedText } from './fold.ts';
import { isInsideOne, mergeSpans, overlapsOne } from './spans.ts';
import type { Span } from './term.ts';

interface RenderedTerm {
  readonly matches: readonly TermMatch[];
  readonly rendered: number;
  /** Where the target still has a source form of the term. */
  readonly left: readonly Span[];
}

export interface CheckedTarget {
  readonly terms: readonly RenderedTerm[];
  /** Deprecated terms whose wording the target has, and where it has it first. */
  readonly forbidden: ReadonlyArray<{ readonly match: TermMatch; readonly span: Span }>;
}

interface SourceMatches {
  readonly winners: readonly TermMatch[];
  readonly forbidden: readonly TermMatch[];
  /** The folded translations that are right at the place of a match: its own and those of its rivals. */
  readonly renderingsOf: (match: TermMatch) => readonly string[];
}

/** Searches the translations of terms in a target. */
export function checkTarget(
  { sourceBoundary, targetBoundary }: CompiledGlossary,
  target: SearchedText,
  { winners, forbidden, renderingsOf }: SourceMatches,
): CheckedTarget {
  const groups = Map.groupBy(winners, ({ compiled }) => compiled.term.termId);
  const right: Span[] = [];
  const counted = [...groups.values()].map((matches) => {
    const renderings = [...new Set(matches.flatMap(renderingsOf))].sort(
      (left, right) => right.length - left.length,
    );
    const found = findOccurrences(target, renderings, targetBoundary);
    right.push(...found);
    return { matches, rendered: found.length };
  });
  const merged = mergeSpans(right);
  const outside = (spans: readonly Span[]): Span[] => spans.filter((span) => !isInsideOne(merged, span));
  const terms = counted.map(({ matches, rendered }) => {
    const forms = [...new Set(matches.map(({ form }) => form))];
    return { matches, rendered, left: outside(findOccurrences(target, forms, sourceBoundary)) };
  });
  const used = [...Map.groupBy(forbidden, ({ compiled }) => compiled.term.termId).values()].flatMap(
    ([match]) => {
      if (match === undefined) return [];
      const { recommended } = match.compiled;
      const wordings = recommended === '' ? [] : [recommended];
      const [span] = outside(findOccurrences(target, wordings, targetBoundary));
      return span === undefined ? [] : [{ match, span }];
    },
  );
  return { terms, forbidden: used };
}

/** Finds the occurrences of some folded texts that do not overlap each other: those of the first text, then the rest. */
function findOccurrences(
  { folded, masks }: SearchedText,
  searched: readonly string[],
  isWhole: BoundaryTest,
): Span[] {
  const { text } = folded;
  const taken = new Set<number>();
  const found: Span[] = [];
  for (const part of searched) {
    for (let start = text.indexOf(part); start !== -1;) {
      const end = start + part.length;
      const span = spanOf(folded, start, end);
      const isFree = !taken.has(start) && !taken.has(end - 1);
      const isFound = isFree && isWhole(text, start, end) && !overlapsOne(masks, span);
      if (isFound) {
        found.push(span);
        for (let index = start; index < end; index += 1) taken.add(index);
      }
      start = text.indexOf(part, isFound ? end : start + 1);
    }
  }
  return found.sort((left, right) => left.start - right.start);
}

function spanOf(folded: FoldedText, start: number, end: number): Span {
  return { start: folded.originalStart(start), end: folded.originalEnd(end - 1) };
}
