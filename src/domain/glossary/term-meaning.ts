import { canonicalScope } from './scope.ts';
import type { Term } from './term.ts';

/** What a term demands of translations. */
export type TermMeaning = Omit<Term, 'termId' | 'revision' | 'reviewStatus'>;

/** These fields as text: equal for terms that demand the same of translations. */
export function meaningOf(term: TermMeaning): string {
  return JSON.stringify([
    term.sourceTerm,
    term.aliases,
    term.recommendedTranslation,
    term.allowedTranslations,
    term.sourceLanguage,
    term.targetLanguage,
    term.category,
    String(term.priority),
    canonicalScope(term.scope),
  ]);
}
