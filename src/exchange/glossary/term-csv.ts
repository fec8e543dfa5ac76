import {
  TERM_COLUMNS,
  WORDING_SEPARATOR,
  type TermColumn,
} from '../../contract/formats/glossary/term-table.ts';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { tableHead, tableRow } from '../csv/table-file.ts';
import type { FileWriter } from '../file-codec.ts';
import type { WrittenTerm } from './exchanged-term.ts';

/** Makes a writer of tables of terms. Several wordings in one cell are on a line each. */
export function createTermCsvWriter(): FileWriter<WrittenTerm> {
  return {
    begin: () => tableHead(TERM_COLUMNS),
    write: (term) => tableRow(`term ${term.term_id}`, TERM_COLUMNS, cellsOf(term)),
    end: () => '',
  };
}

function cellsOf(term: WrittenTerm): Readonly<Record<TermColumn, string | null>> {
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
