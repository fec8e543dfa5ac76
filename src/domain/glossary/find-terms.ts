import type { CompiledGlossary, CompiledTerm } from './compile-glossary.ts';
import type { FoldedText } from './fold.ts';
import type { TermContext } from './scope.ts';
import { overlapsOne } from './spans.ts';
import type { ReviewStatus, Span } from './term.ts';

export interface TermMatch {
  readonly compiled: CompiledTerm;
  /** In the source as it was given. */
  readonly span: Span;
  readonly form: string;
}

/** A match that does not count, and the one that counts at its place. */
interface ShadowedMatch {
  readonly match: TermMatch;
  readonly by: TermMatch;
}

export interface FoundTerms {
  readonly winners: readonly TermMatch[];
  readonly deprecated: readonly TermMatch[];
  readonly shadowed: readonly ShadowedMatch[];
}

export interface SearchedText {
  readonly folded: FoldedText;
  /** Parts in which no term is found, such as placeholders, sorted and apart from each other. */
  readonly masks: readonly Span[];
}

const STATUS_RANK: Readonly<Record<ReviewStatus, number>> = {
  approved: 0,
  draft: 1,
  deprecated: 2,
  rejected: 3,
};

/**
 * Finds the terms of a text whose scope fits. Where matches overlap, the longest counts, then the higher priority, the
 * narrower scope, the approved term before the draft, the smaller id. A deprecated term forbids a wording and takes no
 * part in that; it is shadowed inside of a longer term that counts.
 */
export function findTerms(
  glossary: CompiledGlossary,
  source: SearchedText,
  context: TermContext,
): FoundTerms {
  const matches = allMatches(glossary, source, context).sort(compareMatches);
  const isDeprecated = ({ compiled }: TermMatch): boolean => compiled.term.reviewStatus === 'deprecated';
  const places = createPlaces();
  const winners: TermMatch[] = [];
  const shadowed: ShadowedMatch[] = [];
  for (const match of matches.filter((each) => !isDeprecated(each))) {
    const by = places.takenBy(match.span);
    if (by === null) {
      places.take(match);
      winners.push(match);
    } else {
      shadowed.push({ match, by });
    }
  }
  const deprecated: TermMatch[] = [];
  for (const match of matches.filter(isDeprecated)) {
    const by = places.takenBy(match.span);
    if (by === null || !isLonger(by.span, match.span)) deprecated.push(match);
    else shadowed.push({ match, by });
  }
  return { winners: winners.sort(compareStarts), deprecated: deprecated.sort(compareStarts), shadowed };
}

function allMatches(
  { automaton, lengths, owners, sourceBoundary }: CompiledGlossary,
  { folded, masks }: SearchedText,
  context: TermContext,
): TermMatch[] {
  const { text } = folded;
  const matches: TermMatch[] = [];
  automaton.find(text, (pattern, end) => {
    const start = end - (lengths[pattern] ?? 0);
    const span = { start: folded.originalStart(start), end: folded.originalEnd(end - 1) };
    if (overlapsOne(masks, span)) return;
    const isWhole = sourceBoundary(text, start, end);
    for (const compiled of owners[pattern] ?? []) {
      const { scope } = compiled;
      if ((!isWhole && !scope.matchesInsideWords) || !scope.accepts(context)) continue;
      matches.push({ compiled, span, form: text.slice(start, end) });
    }
  });
  return matches;
}

function compareMatches(left: TermMatch, right: TermMatch): number {
  const [leftTerm, rightTerm] = [left.compiled.term, right.compiled.term];
  return (
    lengthOf(right.span) - lengthOf(left.span) ||
    compareRank(left, right) ||
    STATUS_RANK[leftTerm.reviewStatus] - STATUS_RANK[rightTerm.reviewStatus] ||
    compareValues(leftTerm.termId, rightTerm.termId) ||
    left.span.start - right.span.start
  );
}

/** Compares priority and scope; 0 when neither match is ranked before the other. */
export function compareRank(left: TermMatch, right: TermMatch): number {
  return (
    compareValues(right.compiled.term.priority, left.compiled.term.priority) ||
    right.compiled.scope.keys.length - left.compiled.scope.keys.length
  );
}

function compareStarts(left: TermMatch, right: TermMatch): number {
  return (
    left.span.start - right.span.start || compareValues(left.compiled.term.termId, right.compiled.term.termId)
  );
}

function compareValues<T extends number | bigint | string>(left: T, right: T): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function lengthOf({ start, end }: Span): number {
  return end - start;
}

function isLonger(left: Span, right: Span): boolean {
  return lengthOf(left) > lengthOf(right);
}

interface Places {
  takenBy(span: Span): TermMatch | null;
  take(match: TermMatch): void;
}

/** Places are taken by matches in descending length, so that an overlap always covers an end of the later match. */
function createPlaces(): Places {
  const takers = new Map<number, TermMatch>();
  return {
    takenBy: ({ start, end }) => takers.get(start) ?? takers.get(end - 1) ?? null,
    take: (match) => {
      for (let index = match.span.start; index < match.span.end; index += 1) takers.set(index, match);
    },
  };
}
