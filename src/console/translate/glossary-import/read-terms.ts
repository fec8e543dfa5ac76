/** Reads the terms of a CSV file with the rules of the command line; pure. */

import { createRowReader } from '../../../contract/formats/csv/read-rows.ts';
import type { ReadTermResult } from '../../../contract/formats/glossary/read-term.ts';
import { termTable } from '../../../contract/formats/glossary/term-table.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';

/** A term, and the line that it begins on. */
export type FileTerm = Extract<ReadTermResult, { kind: 'term' }>;

/** The terms of a file. */
export interface FileTerms {
  readonly terms: readonly FileTerm[];
  /** Rows that cannot be read. */
  readonly problems: ReadonlyArray<Extract<ReadTermResult, { kind: 'problem' }>>;
  /** Rows of other languages. */
  readonly others: number;
}

/** Most rows of a file, because each term is a request. */
const MOST_ROWS = 5000;
/** Characters that are read before the rows are counted again. */
const PIECE = 65_536;

/**
 * Reads the terms of one pair of languages.
 *
 * @throws Error that says what is wrong; nothing of the file counts
 */
export function readTerms(text: string, pair: LanguagePair): FileTerms {
  const reader = createRowReader(termTable(pair));
  const results: ReadTermResult[] = [];
  const take = (rows: readonly ReadTermResult[]): void => {
    results.push(...rows);
    if (results.length > MOST_ROWS)
      throw new Error(
        `The file has more than ${MOST_ROWS} rows. Put it into the exchange folder of the daemon instead.`,
      );
  };
  for (let at = 0; at < text.length; at += PIECE) take(reader.write(text.slice(at, at + PIECE)));
  take(reader.end());
  const terms = results.filter((each) => each.kind === 'term');
  const problems = results.filter((each) => each.kind === 'problem');
  return { terms, problems, others: results.length - terms.length - problems.length };
}
