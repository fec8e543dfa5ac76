import { compareRank, type FoundTerms, type TermMatch } from './find-terms.ts';

/** Approved terms of one rank that want different translations for one place. */
export interface Rivalry {
  /** The one that counts, because its id is the smallest. */
  readonly winner: TermMatch;
  readonly rivals: readonly TermMatch[];
}

/** Finds the places at which only the id decides which of several approved terms counts. */
export function findRivals({ winners, shadowed }: FoundTerms): Rivalry[] {
  const byWinner = Map.groupBy(shadowed, ({ by }) => by);
  return winners.flatMap((winner) => {
    if (winner.compiled.term.reviewStatus !== 'approved') return [];
    const rivals = (byWinner.get(winner) ?? [])
      .map(({ match }) => match)
      .filter((match) => isRival(match, winner));
    return rivals.length === 0 ? [] : [{ winner, rivals }];
  });
}

function isRival(match: TermMatch, winner: TermMatch): boolean {
  return (
    match.compiled.term.reviewStatus === 'approved' &&
    match.span.start === winner.span.start &&
    match.span.end === winner.span.end &&
    compareRank(match, winner) === 0 &&
    match.compiled.recommended !== winner.compiled.recommended
  );
}
