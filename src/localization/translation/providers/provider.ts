import type { TermWording } from '../../../domain/glossary/term.ts';
import type { BatchSize } from '../../../domain/translation/batches.ts';
import type { TextKind } from '../../../domain/translation/kind-of-text.ts';
import type { Evaluator } from './evaluation.ts';
import type { FailedUnit, ProviderFailureCode } from './provider-failure.ts';
import type { PlacedText } from './script.ts';
import type { Spending, Usage } from './spending.ts';
import type { TermClassifier } from './term-classifier.ts';

/** The texts for a language model. */
export interface Prompt {
  readonly system: string;
  readonly user: string;
}

/** A term that the translation of a unit must, may or must not contain. */
export interface TermConstraint {
  readonly source: string;
  readonly recommended: string;
  /** Other wordings that are right too. */
  readonly allowed: readonly string[];
  readonly forbidden: readonly string[];
}

/** An earlier translation of a similar text. */
export interface MemoryExample {
  readonly source: string;
  readonly target: string;
}

/** Someone who speaks or is spoken to. */
export interface Character {
  readonly name: string;
  readonly gender: string;
  readonly tone: string;
  /** The word for "I". */
  readonly firstPerson: string;
  /** How the character addresses others, and is addressed. */
  readonly addressForms: string;
  /** Who the others are to the character. */
  readonly relations: string;
}

/** One text to translate. */
export interface UnitToTranslate extends PlacedText {
  readonly unitId: string;
  readonly sourceText: string;
  readonly speaker: string | null;
  /** What the text is for; `null` when nothing tells. */
  readonly kind: TextKind | null;
  /** As its file names it; `null` where it does not. */
  readonly scene: string | null;
  readonly constraints: readonly TermConstraint[];
  /** The best first; at most three are used. */
  readonly examples: readonly MemoryExample[];
  readonly maxLength: number | null;
  /** The flaws of an earlier translation, for the call that repairs it. */
  readonly findings: readonly string[];
}

/** The languages and the characters of a prompt. */
export interface PromptSubject {
  readonly sourceLanguage: string;
  readonly targetLanguage: string;
  /** Everyone in the scene, whether a text names them or not. */
  readonly characters: readonly Character[];
  /** What the configuration tells about the texts of the file. */
  readonly about: readonly string[];
}

/** Units of one container, in their order. */
export interface TranslationSubject extends PromptSubject {
  readonly units: readonly UnitToTranslate[];
}

/** What a run has asked about a unit. */
interface AskedSoFar {
  readonly times: number;
  /** Why the last request gave no translation; `null` before one failed. */
  readonly reason: { readonly code: ProviderFailureCode; readonly message: string } | null;
}

/** What one run has asked about units, by their id. The calls of the run share it, so that its bound holds for the run. */
export type RequestCounts = Map<string, AskedSoFar>;

/** The terms of a Glossary, for providers that keep a glossary of their own. */
export interface GlossaryTerms {
  /** Which Glossary, relative to its root; `null` for the main one. */
  readonly path: string | null;
  /** The same list until the Glossary changes; the important terms first. @throws ServiceError; the reason of the run's signal */
  readonly read: () => Promise<readonly TermWording[]>;
}

/** Asks for translations. */
export interface TranslationRequest extends TranslationSubject {
  /** The account of the run, which all its requests share. */
  readonly spending: Spending;
  /** How often the run has asked for each unit. */
  readonly counts: RequestCounts;
  /** Absent where no Glossary is to be followed. */
  readonly terms?: GlossaryTerms;
  /** Whether the caller asks the fallback at once while the provider is out. */
  readonly hasFallback?: boolean;
  readonly signal: AbortSignal;
}

interface TranslatedUnit {
  readonly unitId: string;
  readonly translatedText: string;
  /** The id that the provider gave the answer; `null` when it gave none. */
  readonly providerRunId: string | null;
}

/** The outcome of a request. Each unit is in `results` or in `failures`, once. */
export interface TranslationOutcome {
  readonly results: readonly TranslatedUnit[];
  readonly failures: readonly FailedUnit[];
  /** The usage of the request; also counted in its account. */
  readonly usage: Usage;
}

/** The step of providers that answer without a wait: many units are stored together. */
export const LOCAL_STEP: BatchSize = { units: 200, characters: 256 * 1024 };

/** The members of a provider that has neither a model nor prompts. */
export const NO_MODEL = {
  model: null,
  promptDigest: null,
  promptOf: () => null,
  fallback: null,
  evaluator: null,
} as const;

/** A way to get translations. */
export interface TranslationProvider {
  readonly name: string;
  readonly kind: 'fixture' | 'openai' | 'deepl' | 'libretranslate' | 'memory-only';
  /** `null` where there is no choice of models. */
  readonly model: string | null;
  /** BLAKE3 of everything in a prompt that does not depend on the units; `null` where there is no prompt. */
  readonly promptDigest: string | null;
  /** The most units of one step, whose results are stored together: those of one request, or more where answers take no time. */
  readonly stepSize: BatchSize;
  /** Most requests about one unit in a run beyond the first; 0 where no request is sent. */
  readonly requestsPerUnit: number;
  /** The provider that is asked while this one is out; `null` for none. */
  readonly fallback: TranslationProvider | null;
  /** Finds what is wrong with translations; `null` for a provider that cannot. */
  readonly evaluator: Evaluator | null;
  /** Says what words of the game are; absent for a provider that cannot. */
  readonly classifier?: TermClassifier;
  /** The usage of a request, estimated high and without a call. */
  estimate(subject: TranslationSubject): Usage;
  /** The prompt of the first request about a subject; `null` for a provider without prompts. */
  promptOf(subject: TranslationSubject): Prompt | null;
  /** A run begins: a provider that was out is asked again without a wait. */
  beginRun(): void;
  /**
   * Translates units. A failure of the provider is a failure of the units, never an error.
   *
   * @throws the reason of `request.signal` when it is aborted
   */
  translateBatch(request: TranslationRequest): Promise<TranslationOutcome>;
}
