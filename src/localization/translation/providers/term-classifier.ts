import type { FailedUnit } from './provider-failure.ts';
import type { Spending, Usage } from './spending.ts';

/** What words of a game can be. A `word` is an ordinary one, which needs no term. */
export const TERM_CLASSES = ['name', 'place', 'item', 'skill', 'word'] as const;

/** One of {@link TERM_CLASSES}. */
export type TermClass = (typeof TERM_CLASSES)[number];

/** Words, and texts that have them. */
export interface WordsToClassify {
  /** An id in this request. */
  readonly unitId: string;
  /** The words. */
  readonly sourceText: string;
  readonly contexts: readonly string[];
}

/** Words of texts in one language. */
export interface ClassificationSubject {
  readonly sourceLanguage: string;
  readonly units: readonly WordsToClassify[];
}

/** The classes of words. Each unit is in `classes` or in `failures`, once. */
interface Classification {
  readonly classes: ReadonlyMap<string, TermClass>;
  readonly failures: readonly FailedUnit[];
  /** The usage of the request; also counted in its account. */
  readonly usage: Usage;
}

/** Says what words of a game are. */
export interface TermClassifier {
  /** The usage of a request, estimated high and without a call. */
  estimate(subject: ClassificationSubject): Usage;
  /**
   * Classifies words. A failure of the provider is a failure of the units, never an error.
   *
   * @param spending the account of the run, which all its requests share
   * @throws the reason of `signal` when it is aborted
   */
  classify(subject: ClassificationSubject, spending: Spending, signal: AbortSignal): Promise<Classification>;
}
