import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import type { LanguagePair, ReviewStatus } from '../../domain/glossary/term.ts';

type ReportedTerm = ReportBodyOf<'translation.glossary.query'>['items'][number];

/** The parts of a term that files carry, as the reports name them. */
export type WrittenTerm = Pick<
  ReportedTerm,
  | 'term_id'
  | 'source_term'
  | 'aliases'
  | 'recommended_translation'
  | 'allowed_translations'
  | 'source_language'
  | 'target_language'
  | 'category'
  | 'priority'
  | 'scope'
  | 'review_status'
  | 'source'
>;

/** A term as a file has it. Values that the file lacks are `null`, or empty where that means the same. */
export interface ReadTerm {
  readonly term_id: string | null;
  readonly source_term: string;
  readonly aliases: readonly string[];
  readonly recommended_translation: string;
  readonly allowed_translations: readonly string[];
  readonly category: string;
  /** An int64. */
  readonly priority: number | bigint;
  readonly scope: Readonly<Record<string, string>>;
  readonly review_status: ReviewStatus | null;
  readonly source_ref: string | null;
  readonly source_author: string | null;
  readonly source_note: string | null;
}

/** The result for one entry of a file. */
export type ReadTermResult =
  | { readonly kind: 'term'; readonly line: number; readonly term: ReadTerm }
  /** An entry of other languages. */
  | { readonly kind: 'other'; readonly line: number }
  | { readonly kind: 'problem'; readonly line: number; readonly message: string };

/** Reads the terms of one pair of languages from a file, piece by piece. */
export interface TermReader {
  /** The terms that are complete. @throws ExchangeFileError with line and reason; nothing of the file counts */
  write(bytes: Uint8Array): ReadTermResult[];
  /** The rest. @throws ExchangeFileError when the file is cut off */
  end(): ReadTermResult[];
}

/** Writes a file of terms piece by piece. */
export interface TermWriter {
  begin(): string;
  /** @throws ExchangeFileError `character_unsupported` when the format cannot carry the term; nothing is written then */
  write(term: WrittenTerm): string;
  end(): string;
}

/** The languages of a file, and the program that writes it. */
export interface TermFileOptions {
  readonly pair: LanguagePair;
  readonly version: string;
}

/** Most aliases, translations or keys of a scope of one term. */
export const MAX_TERM_PARTS = 1000;

/** The priority that a text states; `null` unless it is an int64. */
export function priorityOf(text: string): number | bigint | null {
  if (!/^-?\d{1,19}$/.test(text)) return null;
  const value = BigInt(text);
  if (value !== BigInt.asIntN(64, value)) return null;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}
