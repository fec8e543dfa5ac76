import type { ReadTermResult } from '../../contract/formats/glossary/read-term.ts';
import type { ReportedTerm } from '../../contract/formats/glossary/term-import.ts';
import type { LanguagePair } from '../../domain/glossary/term.ts';

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
