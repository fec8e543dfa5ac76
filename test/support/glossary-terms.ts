import { compileGlossary } from '../../src/domain/glossary/compile-glossary.ts';
import { diagnose, type Diagnosis, type DiagnosedText } from '../../src/domain/glossary/diagnose.ts';
import type { LanguagePair, Term } from '../../src/domain/glossary/term.ts';

/** The pair of the test terms. */
export const TEST_PAIR: LanguagePair = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans' };

/** An approved term; its id is its source term. */
export function testTerm(
  sourceTerm: string,
  recommendedTranslation: string,
  other: Partial<Term> = {},
): Term {
  return {
    ...TEST_PAIR,
    termId: sourceTerm,
    revision: 1,
    sourceTerm,
    aliases: [],
    recommendedTranslation,
    allowedTranslations: [],
    category: '',
    priority: 0,
    scope: {},
    reviewStatus: 'approved',
    ...other,
  };
}

/** Diagnoses a text with some terms; missing terms block. */
export function diagnoseWith(
  terms: readonly Term[],
  sourceText: string,
  translatedText: string | null = null,
  other: Partial<DiagnosedText> & { readonly pair?: LanguagePair } = {},
): Diagnosis {
  const { pair = TEST_PAIR, ...text } = other;
  return diagnose(compileGlossary(terms, pair), {
    sourceText,
    translatedText,
    context: {},
    blocksWhenMissing: () => true,
    ...text,
  });
}
