import type { CompiledGlossary } from '../../../domain/glossary/compile-glossary.ts';
import { diagnose } from '../../../domain/glossary/diagnose.ts';
import type { FieldConstraints } from '../../../domain/text/checks/check-input.ts';
import { checkTarget } from '../../../domain/text/checks/check-target.ts';
import { closedSquareNames, findMarkup } from '../../../domain/text/checks/find-markup.ts';
import { chrfCounts, type ChrfCounts } from '../../../domain/translation/chrf.ts';
import { machineFlaws } from '../../../domain/translation/machine-flaws.ts';
import { contextOf } from '../judge/text-place.ts';
import type { Portion } from './ask-variant.ts';
import type { QualitySettings } from './quality-settings.ts';
import type { ReferenceText } from './read-reference-set.ts';

/** How many demands there were, and how many of them a translation met. */
export interface Kept {
  readonly of: number;
  readonly kept: number;
}

/** What is wrong with a translation. */
export interface AnswerFinding {
  readonly check: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
}

/** A translation with its measures. */
export interface MeasuredAnswer {
  /** `null` when there is none. */
  readonly target: string | null;
  readonly counts: ChrfCounts;
  readonly findings: readonly AnswerFinding[];
  /** Approved terms of the source. */
  readonly terms: Kept;
  /** 1 for a source with placeholders or tags, and kept when all of them are right. */
  readonly tokens: Kept;
  /** 1 for a field with a limit. */
  readonly length: Kept;
}

const TOKEN_CHECKS: ReadonlySet<string> = new Set([
  'placeholder_mismatch',
  'placeholder_order',
  'tag_mismatch',
  'tag_nesting',
]);
const LENGTH_CHECKS: ReadonlySet<string> = new Set([
  'too_many_bytes',
  'too_many_characters',
  'too_wide',
  'too_many_lines',
]);
/** What a translation does wrong with terms; the other diagnostics are about the Glossary. */
const TERM_CHECKS: ReadonlySet<string> = new Set([
  'term_missing',
  'term_count_mismatch',
  'forbidden_translation',
  'untranslated_term_left',
]);

/**
 * Measures translations against their references, the limits of their fields and the terms. A missing translation counts as an empty
 * one that keeps nothing.
 *
 * @param targetOf gives the translation of a text by its id; `null` when there is none
 * @returns in the order of the texts
 */
export function measureAnswers(
  texts: readonly ReferenceText[],
  portions: readonly Portion[],
  targetOf: (unitId: string) => string | null,
  glossary: CompiledGlossary,
  settings: QualitySettings,
): readonly MeasuredAnswer[] {
  const flaws = new Map(portions.flatMap(({ units }) => [...flawsOf(units, targetOf, settings)]));
  return texts.map((text, at) => {
    const unitId = String(at);
    return measure(text, targetOf(unitId), flaws.get(unitId) ?? [], glossary, settings);
  });
}

function flawsOf(
  units: Portion['units'],
  targetOf: (unitId: string) => string | null,
  { translation }: QualitySettings,
): ReturnType<typeof machineFlaws> {
  const texts = units.flatMap(({ unitId, sourceText }) => {
    const target = targetOf(unitId);
    return target === null ? [] : [{ key: unitId, source: sourceText, target }];
  });
  return machineFlaws(texts, translation, new Map());
}

function measure(
  { sourceText, reference, place }: ReferenceText,
  target: string | null,
  flaws: readonly AnswerFinding[],
  glossary: CompiledGlossary,
  { constraintsOf, translation: { sourceLanguage, targetLanguage } }: QualitySettings,
): MeasuredAnswer {
  const constraints = constraintsOf(place);
  const { constraints: wanted, diagnostics } = diagnose(glossary, {
    sourceText,
    translatedText: target ?? '',
    context: contextOf(place),
    blocksWhenMissing: () => true,
  });
  const checked =
    target === null
      ? []
      : checkTarget({ ...constraints, sourceLanguage, targetLanguage, source: sourceText, target });
  const ofTerms = target === null ? [] : diagnostics.filter(({ code }) => TERM_CHECKS.has(code));
  const terms = new Set(wanted.filter(({ requirement }) => requirement === 'must').map(({ term }) => term));
  const missing = diagnostics.filter(({ code }) => code === 'term_missing').length;
  const keeps = (checks: ReadonlySet<string>): number =>
    target === null || checked.some(({ check }) => checks.has(check)) ? 0 : 1;
  const none = { of: 0, kept: 0 };
  return {
    target,
    counts: chrfCounts(target ?? '', reference),
    findings: [
      ...checked,
      ...flaws,
      ...ofTerms.map(({ code, severity, message }) => ({ check: code, severity, message })),
    ].flatMap(({ check, severity, message }) => (severity === 'info' ? [] : [{ check, severity, message }])),
    terms: { of: terms.size, kept: Math.max(0, terms.size - missing) },
    tokens: hasMarks(sourceText, constraints) ? { of: 1, kept: keeps(TOKEN_CHECKS) } : none,
    length: hasLimit(constraints) ? { of: 1, kept: keeps(LENGTH_CHECKS) } : none,
  };
}

function hasMarks(source: string, { tagGrammar, findPlaceholders }: FieldConstraints): boolean {
  const squareNames = new Set(closedSquareNames(source));
  const options = { tags: tagGrammar !== 'none', squareNames, findPlaceholders };
  return findMarkup(source, options).marks.length > 0;
}

function hasLimit({ maxBytes, maxCharacters, maxWidth, maxLines }: FieldConstraints): boolean {
  return [maxBytes, maxCharacters, maxWidth, maxLines].some((limit) => limit !== undefined);
}
