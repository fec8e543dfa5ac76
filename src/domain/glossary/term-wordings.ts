import { compileScope } from './scope.ts';
import type { TermWording } from './term.ts';

interface WordedTerm {
  readonly sourceTerm: string;
  readonly aliases: readonly string[];
  readonly recommendedTranslation: string;
  readonly scope: Readonly<Record<string, string>>;
  readonly priority: number | bigint;
}

/** The wordings of the terms that hold everywhere, and of their aliases: the important ones first. */
export function wordingsEverywhere(terms: readonly WordedTerm[]): readonly TermWording[] {
  return terms
    .filter(({ scope }) => compileScope(scope).keys.length === 0)
    .toSorted((one, other) => Number(other.priority) - Number(one.priority))
    .flatMap(({ sourceTerm, aliases, recommendedTranslation: target }) =>
      [sourceTerm, ...aliases].map((source) => ({ source, target })),
    );
}
