import { canonicalScope } from '../../../domain/glossary/scope.ts';
import type { StoredTerm } from './stored-term.ts';

/** The fields by which translations are judged, as text. */
export function meaningOf(term: StoredTerm): string {
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
