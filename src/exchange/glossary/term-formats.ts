import type { ReadTermResult } from '../../contract/formats/glossary/read-term.ts';
import {
  termTable,
  TERM_COLUMNS,
  WORDING_SEPARATOR,
  type TermColumn,
} from '../../contract/formats/glossary/term-table.ts';
import type { FormatName } from '../../contract/formats/exchange-formats.ts';
import type { LanguagePair } from '../../domain/glossary/term.ts';
import { createTableReader, tableHead, tableRow } from '../csv/table-file.ts';
import type { FileReader, FileWriter } from '../file-codec.ts';
import { createTbxReader } from './tbx/read-tbx.ts';
import { createTbxWriter } from './tbx/write-tbx.ts';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import type { ReportedTerm } from '../../contract/formats/glossary/term-import.ts';

interface TermFormat {
  /** Reads the terms of one pair of languages; rows of a table without languages are of that pair. */
  readonly createReader: (pair: LanguagePair) => FileReader<ReadTermResult>;
  /** @param version of the program that writes */
  readonly createWriter: (pair: LanguagePair, version: string) => FileWriter<ReportedTerm>;
}

/** The readers and writers of terms. */
export const TERM_FORMATS = {
  tbx: { createReader: createTbxReader, createWriter: createTbxWriter },
  csv: { createReader: (pair) => createTableReader(termTable(pair)), createWriter: createTermCsvWriter },
} as const satisfies Record<FormatName<'terms'>, TermFormat>;

/** Makes a writer of tables of terms. Several wordings in one cell are on a line each. */
function createTermCsvWriter(): FileWriter<ReportedTerm> {
  return {
    begin: () => tableHead(TERM_COLUMNS),
    write: (term) => tableRow(`term ${term.term_id}`, TERM_COLUMNS, cellsOf(term)),
    end: () => '',
  };
}

function cellsOf(term: ReportedTerm): Readonly<Record<TermColumn, string | null>> {
  return {
    term_id: term.term_id,
    source_term: term.source_term,
    recommended_translation: term.recommended_translation,
    allowed_translations: term.allowed_translations.join(WORDING_SEPARATOR),
    aliases: term.aliases.join(WORDING_SEPARATOR),
    source_language: term.source_language,
    target_language: term.target_language,
    category: term.category,
    priority: String(term.priority),
    scope: Object.keys(term.scope).length === 0 ? null : stringifyJsonExact(term.scope),
    review_status: term.review_status,
    source_ref: term.source.source_ref ?? null,
    source_author: term.source.source_author ?? null,
    source_note: term.source.source_note ?? null,
  };
}
