import { addChrfCounts, chrfScore, NO_CHRF_COUNTS } from '../../../domain/translation/chrf.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import type { TranslationProvider } from '../providers/provider.ts';
import { addUsage, fits, NO_USAGE, type SpendingCaps, type Usage } from '../providers/spending.ts';
import { reportedUsage, type ReportedUsage } from '../worker/run-tally.ts';
import type { askVariant } from './ask-variant.ts';
import type { AnswerFinding, Kept, MeasuredAnswer } from './measure-answers.ts';
import type { ReferenceSet, ReferenceText } from './read-reference-set.ts';

/** What one variant would use. */
export interface EstimatedVariant {
  readonly name: string;
  readonly provider: TranslationProvider;
  readonly estimate: Usage;
}

/** What one variant gave, measured. */
export interface MeasuredVariant extends EstimatedVariant {
  readonly answers: Awaited<ReturnType<typeof askVariant>>;
  /** In the order of the texts. */
  readonly measured: readonly MeasuredAnswer[];
}

/** The figures of a variant. */
export interface VariantReport {
  readonly name: string;
  readonly provider: string;
  readonly model: string | null;
  readonly prompt_digest: string | null;
  /** Of the set, 0 to 100. */
  readonly chrf: number;
  readonly translated: number;
  readonly failed: number;
  /** Texts without a translation, by the code of the failure. */
  readonly failures: Readonly<Record<string, number>>;
  /** The first failure in words. */
  readonly failure_reason: string | null;
  /** Translations that would be blocked. */
  readonly with_errors: number;
  /** By the check. */
  readonly findings: Readonly<Record<string, number>>;
  readonly terms: Kept;
  readonly tokens: Kept;
  readonly length: Kept;
  readonly estimate: ReportedUsage;
  readonly usage: ReportedUsage;
  readonly seconds: number;
}

/** A text with its translations side by side. */
export interface TextReport {
  readonly source_text: string;
  readonly reference: string;
  readonly destination: string;
  readonly field_path: string;
  readonly speaker: string | null;
  readonly answers: readonly {
    readonly variant: string;
    readonly target_text: string | null;
    readonly chrf: number;
    readonly findings: readonly AnswerFinding[];
    readonly failure: string | null;
  }[];
}

/** The report of an evaluation: JSON. */
export interface QualityReport {
  readonly format: 'slipway-evaluation-1';
  readonly set: {
    readonly file: string;
    readonly texts: number;
    readonly usable: number;
    readonly left_out: Readonly<Record<string, number>>;
  };
  readonly source_language: string;
  readonly target_language: string;
  readonly variants: readonly VariantReport[];
  readonly texts: readonly TextReport[];
}

/** What all variants would use together. */
export function totalEstimate(variants: readonly EstimatedVariant[]): Usage {
  return variants.map(({ estimate }) => estimate).reduce(addUsage, NO_USAGE);
}

/** Writes the report of a dry run: the estimates, and whether they fit under the caps together (`null` without a cap). */
export function estimateReport(
  { file, texts, usable, leftOut }: ReferenceSet & { readonly file: string },
  { sourceLanguage, targetLanguage }: LanguagePair,
  variants: readonly EstimatedVariant[],
  caps: SpendingCaps,
): Readonly<Record<string, unknown>> {
  const total = totalEstimate(variants);
  return {
    format: 'slipway-evaluation-estimate-1',
    set: { file, texts: texts.length, usable, left_out: leftOut },
    source_language: sourceLanguage,
    target_language: targetLanguage,
    variants: variants.map(({ name, provider, estimate }) => ({
      name,
      provider: provider.name,
      model: provider.model,
      prompt_digest: provider.promptDigest,
      estimate: reportedUsage(estimate),
    })),
    estimate: reportedUsage(total),
    fits: fits(total, caps),
  };
}

/** Writes the report of an evaluation. */
export function qualityReport(
  set: ReferenceSet & { readonly file: string },
  { sourceLanguage, targetLanguage }: LanguagePair,
  variants: readonly MeasuredVariant[],
): QualityReport {
  const { file, texts, usable, leftOut } = set;
  return {
    format: 'slipway-evaluation-1',
    set: { file, texts: texts.length, usable, left_out: leftOut },
    source_language: sourceLanguage,
    target_language: targetLanguage,
    variants: variants.map(variantReport),
    texts: texts.map((text, at) => textReport(text, at, variants)),
  };
}

function variantReport({ name, provider, estimate, answers, measured }: MeasuredVariant): VariantReport {
  const failures: Record<string, number> = {};
  let reason: string | null = null;
  for (const answer of answers.byUnit.values()) {
    if (!('failure' in answer)) continue;
    const { code, message } = answer.failure;
    failures[code] = (failures[code] ?? 0) + 1;
    reason ??= message;
  }
  const findings: Record<string, number> = {};
  for (const { check } of measured.flatMap((each) => each.findings))
    findings[check] = (findings[check] ?? 0) + 1;
  return {
    name,
    provider: provider.name,
    model: provider.model,
    prompt_digest: provider.promptDigest,
    chrf: rounded(chrfScore(measured.map(({ counts }) => counts).reduce(addChrfCounts, NO_CHRF_COUNTS))),
    translated: measured.filter(({ target }) => target !== null).length,
    failed: measured.filter(({ target }) => target === null).length,
    failures,
    failure_reason: reason,
    with_errors: measured.filter((each) => each.findings.some(({ severity }) => severity === 'error')).length,
    findings,
    terms: total(measured, ({ terms }) => terms),
    tokens: total(measured, ({ tokens }) => tokens),
    length: total(measured, ({ length }) => length),
    estimate: reportedUsage(estimate),
    usage: reportedUsage(answers.usage),
    seconds: rounded(answers.seconds),
  };
}

function textReport(
  { sourceText, reference, place }: ReferenceText,
  at: number,
  variants: readonly MeasuredVariant[],
): TextReport {
  return {
    source_text: sourceText,
    reference,
    destination: place.destination,
    field_path: place.fieldPath,
    speaker: place.speaker,
    answers: variants.flatMap(({ name, measured, answers }) => {
      const answer = measured[at];
      if (answer === undefined) return [];
      const given = answers.byUnit.get(String(at));
      return {
        variant: name,
        target_text: answer.target,
        chrf: rounded(chrfScore(answer.counts)),
        findings: answer.findings,
        failure: given !== undefined && 'failure' in given ? given.failure.message : null,
      };
    }),
  };
}

function total(measured: readonly MeasuredAnswer[], part: (answer: MeasuredAnswer) => Kept): Kept {
  const sum = { of: 0, kept: 0 };
  for (const answer of measured) {
    sum.of += part(answer).of;
    sum.kept += part(answer).kept;
  }
  return sum;
}

/** With two decimals, as sacrebleu prints scores. */
function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
