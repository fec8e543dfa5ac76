import { createAutomaton, type Automaton } from './automaton.ts';
import { createBoundaryTest, isWrittenWithoutSpaces, type BoundaryTest } from './boundary.ts';
import { foldText } from './fold.ts';
import { compileScope, type CompiledScope } from './scope.ts';
import type { LanguagePair, Term } from './term.ts';

export interface CompiledTerm {
  readonly term: Term;
  readonly scope: CompiledScope;
  readonly recommended: string;
  readonly renderings: readonly string[];
}

/** The terms of one pair of languages, ready to be found in texts. */
export interface CompiledGlossary extends LanguagePair {
  readonly automaton: Automaton;
  /** By pattern of the automaton: its length in UTF-16 units. */
  readonly lengths: readonly number[];
  /** By pattern of the automaton: the terms that have it as source term or alias. */
  readonly owners: readonly (readonly CompiledTerm[])[];
  readonly sourceBoundary: BoundaryTest;
  readonly targetBoundary: BoundaryTest;
}

/**
 * Compiles the terms of one pair of languages. Rejected terms, drafts that wait for their translation, and forms that fold to nothing are
 * left out: a suggested term must not hide a shorter approved one.
 *
 * @param terms terms of other pairs are also left out
 */
export function compileGlossary(terms: Iterable<Term>, pair: LanguagePair): CompiledGlossary {
  const byForm = new Map<string, CompiledTerm[]>();
  for (const term of terms) {
    if (term.reviewStatus === 'rejected' || !isOfPair(term, pair)) continue;
    const compiled = compileTerm(term);
    if (term.reviewStatus === 'draft' && compiled.renderings.length === 0) continue;
    for (const form of formsOf(term)) {
      const owners = byForm.get(form);
      if (owners === undefined) byForm.set(form, [compiled]);
      else owners.push(compiled);
    }
  }
  const forms = [...byForm.keys()];
  const { sourceLanguage, targetLanguage } = pair;
  return {
    sourceLanguage,
    targetLanguage,
    automaton: createAutomaton(forms),
    lengths: forms.map(({ length }) => length),
    owners: [...byForm.values()],
    sourceBoundary: createBoundaryTest(sourceLanguage),
    targetBoundary: isWrittenWithoutSpaces(targetLanguage) ? () => true : createBoundaryTest(targetLanguage),
  };
}

function isOfPair(term: Term, { sourceLanguage, targetLanguage }: LanguagePair): boolean {
  return term.sourceLanguage === sourceLanguage && term.targetLanguage === targetLanguage;
}

function compileTerm(term: Term): CompiledTerm {
  const recommended = foldText(term.recommendedTranslation).text;
  const renderings = [recommended, ...term.allowedTranslations.map((text) => foldText(text).text)];
  return {
    term,
    scope: compileScope(term.scope),
    recommended,
    renderings: [...new Set(renderings)]
      .filter((rendering) => rendering !== '')
      .sort((left, right) => right.length - left.length || (left < right ? -1 : 1)),
  };
}

function formsOf({ sourceTerm, aliases }: Term): ReadonlySet<string> {
  const forms = [sourceTerm, ...aliases].map((form) => foldText(form).text);
  return new Set(forms.filter((form) => form !== ''));
}
