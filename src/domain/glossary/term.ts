/** Review states of a term. */
export const REVIEW_STATUSES = ['draft', 'approved', 'deprecated', 'rejected'] as const;

export type ReviewStatus = (typeof REVIEW_STATUSES)[number];

export interface LanguagePair {
  readonly sourceLanguage: string;
  readonly targetLanguage: string;
}

/** A term, as far as the rules of the Glossary use it. */
export interface Term extends LanguagePair {
  readonly termId: string;
  readonly revision: number;
  readonly sourceTerm: string;
  readonly aliases: readonly string[];
  readonly recommendedTranslation: string;
  readonly allowedTranslations: readonly string[];
  readonly category: string;
  readonly priority: number | bigint;
  readonly scope: Readonly<Record<string, string>>;
  readonly reviewStatus: ReviewStatus;
}

/** A term or an alias with the translation to use. */
export interface TermWording {
  readonly source: string;
  readonly target: string;
}

/** A part of a text: UTF-16 offsets, the end exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}
