import { z } from 'zod';
import { FINDING_KINDS, type EvaluationFinding } from '../../../domain/translation/evaluation-finding.ts';
import type { FailedUnit } from './provider-failure.ts';
import type { PlacedText } from './script.ts';
import type { Spending, Usage } from './spending.ts';

/** Findings of an evaluation on one target. */
export const MOST_FINDINGS = 10;
const MESSAGE_CHARACTERS = 500;

/** A finding as a provider gives it. An evaluation never blocks a target, so that there are no errors. */
export const evaluationFinding = z.strictObject({
  kind: z.enum(FINDING_KINDS),
  severity: z.enum(['warning', 'info']),
  quote: z.string().nullish(),
  message: z
    .string()
    .transform((text) =>
      text
        .toWellFormed()
        .replaceAll(/\p{Cc}+/gu, ' ')
        .trim()
        .slice(0, MESSAGE_CHARACTERS)
        .toWellFormed(),
    )
    .refine((text) => text !== '', { message: 'must not be blank' }),
});

/** A translation to evaluate. */
export interface UnitToEvaluate extends PlacedText {
  readonly unitId: string;
  readonly sourceText: string;
  readonly targetText: string;
  readonly speaker: string | null;
}

/** Translations of one container, in their order. */
export interface EvaluationSubject {
  readonly sourceLanguage: string;
  readonly targetLanguage: string;
  readonly units: readonly UnitToEvaluate[];
}

/** Asks for the evaluation of translations. */
export interface EvaluationRequest extends EvaluationSubject {
  /** The account of the run, which all its requests share. */
  readonly spending: Spending;
  /** Whether the caller asks the fallback at once while the provider is out. */
  readonly hasFallback?: boolean;
  readonly signal: AbortSignal;
}

/** The findings on one translation; none for a good one. */
interface EvaluatedUnit {
  readonly unitId: string;
  readonly findings: readonly EvaluationFinding[];
}

/** The outcome of a request. Each unit is in `results` or in `failures`, once. */
export interface EvaluationOutcome {
  readonly results: readonly EvaluatedUnit[];
  readonly failures: readonly FailedUnit[];
  /** The usage of the request; also counted in its account. */
  readonly usage: Usage;
}

/** Finds what is wrong with translations. It changes and accepts nothing. */
export interface Evaluator {
  /** The usage of a request, estimated high and without a call. */
  estimate(subject: EvaluationSubject): Usage;
  /**
   * Evaluates translations. A failure of the provider is a failure of the units, never an error.
   *
   * @throws the reason of `request.signal` when it is aborted
   */
  evaluate(request: EvaluationRequest): Promise<EvaluationOutcome>;
}

/** The kinds of providers that have an evaluator. */
export const EVALUATING_KINDS: ReadonlySet<string> = new Set(['openai', 'fixture']);
