/** Reads the terms of a CSV file, with the columns that the exports of the Glossary have; pure. */

import {
  TERM_COLUMN_ALIASES,
  TERM_COLUMNS,
  WORDING_SEPARATOR,
  type TermColumn,
} from '../../../domain/glossary/term-columns.ts';
import { withoutGuard } from '../../../domain/text/spreadsheet-guard.ts';
import { isRecord } from '../../forms/form-model.ts';
import type { Term } from '../term-parts.tsx';
import { readTable } from './read-table.ts';

/** A pair of languages, as tags. */
export type LanguagePair = Readonly<Record<'source_language' | 'target_language', string>>;

/** A term as a file has it; `null` and empty where the file says nothing. */
export interface FileTerm extends Pick<
  Term,
  'source_term' | 'aliases' | 'recommended_translation' | 'allowed_translations' | 'category' | 'scope'
> {
  readonly line: number;
  readonly term_id: string | null;
  readonly priority: number;
  readonly review_status: Term['review_status'] | null;
  /** Where the file has it from: `source_ref`, `source_author` and `source_note`, if given. */
  readonly source: Readonly<Record<string, string>>;
}

/** The terms of a file. */
export interface FileTerms {
  readonly terms: readonly FileTerm[];
  /** Rows that cannot be read. */
  readonly problems: ReadonlyArray<{ readonly line: number; readonly message: string }>;
  /** Rows of other languages. */
  readonly others: number;
}

const STATUSES: readonly Term['review_status'][] = ['draft', 'approved', 'deprecated', 'rejected'];

type Cells = Readonly<Partial<Record<TermColumn, string>>>;

/**
 * Reads the terms of one pair of languages. Rows that name no language are of that pair.
 *
 * @throws Error with the line, when the first row does not name the columns of terms
 */
export function readTerms(text: string, pair: LanguagePair): FileTerms {
  const [head, ...rows] = readTable(text.replace(/^\uFEFF/, ''));
  const columns = columnsOf(head?.cells ?? []);
  const terms: FileTerm[] = [];
  const problems: { line: number; message: string }[] = [];
  let others = 0;
  for (const { cells, line } of rows) {
    try {
      const named = cellsOf(columns, cells);
      if (isOfPair(named, pair)) terms.push(termOf(named, line));
      else others += 1;
    } catch (error) {
      problems.push({ line, message: (error as Error).message });
    }
  }
  return { terms, problems, others };
}

function columnsOf(names: readonly string[]): readonly (TermColumn | null)[] {
  const columns = names.map((given) => {
    const name = given.trim().toLowerCase();
    const alias = Object.hasOwn(TERM_COLUMN_ALIASES, name) ? TERM_COLUMN_ALIASES[name] : undefined;
    return TERM_COLUMNS.find((column) => column === name) ?? alias ?? null;
  });
  for (const needed of ['source_term', 'recommended_translation'] as const) {
    const found = columns.filter((column) => column === needed).length;
    if (found !== 1)
      throw new Error(`Line 1: the first row names the column ${needed} ${found} times instead of once.`);
  }
  return columns;
}

function cellsOf(columns: readonly (TermColumn | null)[], cells: readonly string[]): Cells {
  if (cells.length !== columns.length)
    throw new Error(`the row has ${cells.length} cells instead of ${columns.length}`);
  return Object.fromEntries(
    columns.flatMap((column, at) => (column === null ? [] : [[column, withoutGuard(cells[at] ?? '')]])),
  );
}

function isOfPair(
  { source_language: from = '', target_language: to = '' }: Cells,
  pair: LanguagePair,
): boolean {
  const isSame = (tag: string, wanted: string): boolean =>
    tag === '' || tag.toLowerCase() === wanted.toLowerCase();
  return isSame(from, pair.source_language) && isSame(to, pair.target_language);
}

function termOf(cells: Cells, line: number): FileTerm {
  const priority = Number((cells.priority ?? '').trim() || '0');
  if (!Number.isSafeInteger(priority)) throw new Error('the priority is not a whole number');
  const status = (cells.review_status ?? '').trim().toLowerCase();
  const known = STATUSES.find((each) => each === status);
  if (status !== '' && known === undefined)
    throw new Error(`review_status is not one of ${STATUSES.join(', ')}`);
  const { source_ref = '', source_author = '', source_note = '' } = cells;
  return {
    line,
    term_id: cells.term_id || null,
    source_term: cells.source_term ?? '',
    recommended_translation: cells.recommended_translation ?? '',
    allowed_translations: wordingsOf(cells.allowed_translations),
    aliases: wordingsOf(cells.aliases),
    category: cells.category ?? '',
    priority,
    scope: scopeOf(cells.scope ?? ''),
    review_status: known ?? null,
    source: Object.fromEntries(
      Object.entries({ source_ref, source_author, source_note }).filter(([, value]) => value !== ''),
    ),
  };
}

function wordingsOf(cell = ''): string[] {
  return cell
    .split(WORDING_SEPARATOR)
    .map((text) => text.replace(/\r$/, ''))
    .filter((text) => text !== '');
}

function scopeOf(cell: string): Record<string, string> {
  if (cell.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(cell);
    if (isRecord(value) && Object.values(value).every((each) => typeof each === 'string'))
      return value as Record<string, string>;
  } catch {
    // Refused below.
  }
  throw new Error('scope is not a JSON object of texts, such as {"speaker":"アロナ"}');
}
