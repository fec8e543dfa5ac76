import type { ReviewStatus } from '../../../domain/glossary/term.ts';

/** A term as a file has it. Values that the file does not have are `null`, or empty where that means the same. */
export interface ReadTerm {
  readonly term_id: string | null;
  readonly source_term: string;
  readonly aliases: readonly string[];
  readonly recommended_translation: string;
  readonly allowed_translations: readonly string[];
  readonly category: string;
  readonly priority: number | bigint;
  readonly scope: Readonly<Record<string, string>>;
  readonly review_status: ReviewStatus | null;
  readonly source_ref: string | null;
  readonly source_author: string | null;
  readonly source_note: string | null;
}

/** Remarks on a term that was read. */
export interface TermRemark {
  readonly kind: 'wording_left_out' | 'spreadsheet_value';
  readonly message: string;
}

export type ReadTermResult =
  | {
      readonly kind: 'term';
      readonly line: number;
      readonly term: ReadTerm;
      readonly remarks: readonly TermRemark[];
    }
  /** An entry of other languages, whose tags may be empty. */
  | { readonly kind: 'other'; readonly line: number; readonly languages: readonly string[] }
  /** An entry whose wordings must not be used. */
  | { readonly kind: 'left_out'; readonly line: number; readonly message: string }
  | { readonly kind: 'problem'; readonly line: number; readonly message: string };

/** Most aliases, translations or keys of a scope of one term. */
export const MAX_TERM_PARTS = 1000;

/** The priority that a text states; `null` unless it is an int64. */
export function priorityOf(text: string): number | bigint | null {
  if (!/^-?\d{1,19}$/.test(text)) return null;
  const value = BigInt(text);
  if (value !== BigInt.asIntN(64, value)) return null;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}
