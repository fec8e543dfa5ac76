import type { ReportedTerm } from '../../contract/formats/glossary/term-import.ts';
import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import { compileGlossary, type CompiledGlossary } from '../../domain/glossary/compile-glossary.ts';
import { diagnose, type Diagnosis } from '../../domain/glossary/diagnose.ts';
import type { TermContext } from '../../domain/glossary/scope.ts';
import type { LanguagePair } from '../../domain/glossary/term.ts';
import { base32 } from '../../platform/hashing/base32.ts';
import { blake3OfText } from '../../platform/hashing/text-blake3.ts';
import type { TermMissingRules } from './glossary-config.ts';
import type { OpenGlossary } from './store/glossary-database.ts';
import { readGeneration, termsOf, type ReviewedTerm } from './store/glossary-reader.ts';

export interface DiagnosedUnit {
  readonly sourceText: string;
  /** `null` before there is a translation. */
  readonly translatedText: string | null;
  /** The facts that scopes are compared with, as `speaker`, `scene` and `destination`. */
  readonly context: TermContext;
  /** Whether the container of the text was proofread once; missing terms block from then on. */
  readonly wasProofread: boolean;
}

export interface DiagnosisRequest {
  readonly pair: LanguagePair;
  readonly rules: TermMissingRules;
  readonly units: readonly DiagnosedUnit[];
  /** Leaves the constraints of the diagnoses out, which are most of an answer. */
  readonly withoutConstraints?: boolean;
}

export type UnitDiagnosis = Omit<ReportBodyOf<'translation.glossary.diagnose'>, 'source_text'>;

/** The diagnoses of some texts, in their order. */
export interface Diagnoses {
  readonly generation: number;
  readonly diagnoses: readonly UnitDiagnosis[];
}

/** Pairs of languages whose terms stay compiled. */
const KEPT_PAIRS = 4;
const IDENTITY_PREFIX = 'gqa1_';
const IDENTITY_BYTES = 16;

/** Compares texts with the terms of a file. */
export function diagnoseUnits(
  glossary: OpenGlossary,
  { pair, rules, units, withoutConstraints = false }: DiagnosisRequest,
): Diagnoses {
  const generation = readGeneration(glossary);
  const terms = compiledTerms(glossary, pair, generation);
  return {
    generation,
    diagnoses: units.map((unit) =>
      reportedDiagnosis(
        diagnose(terms, {
          ...unit,
          blocksWhenMissing: (category) => blocksWhenMissing(rules, category, unit.wasProofread),
        }),
        !withoutConstraints,
      ),
    ),
  };
}

/** The terms of a pair, which are compiled with the first use and after each change. */
function compiledTerms(glossary: OpenGlossary, pair: LanguagePair, generation: number): CompiledGlossary {
  const { compiled } = glossary;
  if (generation !== compiled.generation) compiled.pairs.clear();
  compiled.generation = generation;
  const key = `${pair.sourceLanguage} ${pair.targetLanguage}`;
  const terms = compiled.pairs.get(key) ?? compileGlossary(termsOf(glossary, pair), pair);
  // The pair that was used last stays the longest.
  compiled.pairs.delete(key);
  compiled.pairs.set(key, terms);
  const [oldest] = compiled.pairs.keys();
  if (compiled.pairs.size > KEPT_PAIRS && oldest !== undefined) compiled.pairs.delete(oldest);
  return terms;
}

function blocksWhenMissing(rules: TermMissingRules, category: string, wasProofread: boolean): boolean {
  const own = Object.hasOwn(rules.categories, category) ? rules.categories[category] : undefined;
  const rule = own ?? rules.default;
  return rule === 'always' || (rule === 'after_proofread' && wasProofread);
}

function reportedDiagnosis(
  { constraints, diagnostics, blockingCodes, identityText }: Diagnosis,
  hasConstraints: boolean,
): UnitDiagnosis {
  return {
    constraints: (hasConstraints ? constraints : []).map(({ term, span, matchedText, requirement }) => ({
      term_id: term.termId,
      revision: term.revision,
      source_span: span,
      matched_text: matchedText,
      recommended_translation: term.recommendedTranslation,
      allowed_translations: [...term.allowedTranslations],
      requirement,
      scope: { ...term.scope },
      priority: term.priority,
    })),
    diagnostics: diagnostics.map(({ terms, ...other }) => ({
      ...other,
      term_ids: terms.map(({ termId }) => termId),
    })),
    decision: { blocked: blockingCodes.length > 0, codes: [...blockingCodes] },
    qa_identity: IDENTITY_PREFIX + base32(blake3OfText(identityText).subarray(0, IDENTITY_BYTES)),
  };
}

export function reportedTerm({ term, history }: ReviewedTerm): ReportedTerm {
  const { source } = term;
  return {
    term_id: term.termId,
    revision: term.revision,
    source_term: term.sourceTerm,
    aliases: [...term.aliases],
    recommended_translation: term.recommendedTranslation,
    allowed_translations: [...term.allowedTranslations],
    source_language: term.sourceLanguage,
    target_language: term.targetLanguage,
    category: term.category,
    priority: term.priority,
    scope: { ...term.scope },
    review_status: term.reviewStatus,
    source: {
      source_kind: source.kind,
      observed_unix_seconds: source.observedAt,
      ...(source.ref === null ? {} : { source_ref: source.ref }),
      ...(source.author === null ? {} : { source_author: source.author }),
      ...(source.note === null ? {} : { source_note: source.note }),
    },
    created_at: term.createdAt,
    updated_at: term.updatedAt,
    review_history: history.map(({ tokenId, ...entry }) => ({ ...entry, token_id: tokenId })),
  };
}
