import { termTable } from '../../../contract/formats/glossary/term-table.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import { createTableReader } from '../../csv/read-table.ts';
import type { TermReader } from '../exchanged-term.ts';

/** Makes a reader of tables of terms for one pair of languages. Rows without languages are of that pair. */
export function createTermCsvReader(pair: LanguagePair): TermReader {
  return createTableReader(termTable(pair));
}
