import { isRecord } from '../../../domain/is-record.ts';
import { isSameLanguage } from '../../../domain/text/language-tag.ts';
import { REVIEW_STATUSES, type LanguagePair, type ReviewStatus } from '../../../domain/glossary/term.ts';
import type { TableOptions } from '../csv/read-rows.ts';
import { MAX_TERM_PARTS, priorityOf, type ReadTerm, type ReadTermResult } from './read-term.ts';

/** The columns of a table of terms, in their order. */
export const TERM_COLUMNS = [
  'term_id',
  'source_term',
  'recommended_translation',
  'allowed_translations',
  'aliases',
  'source_language',
  'target_language',
  'category',
  'priority',
  'scope',
  'review_status',
  'source_ref',
  'source_author',
  'source_note',
] as const;

export type TermColumn = (typeof TERM_COLUMNS)[number];

/** Shorter names that people write. */
const TERM_COLUMN_ALIASES: Readonly<Record<string, TermColumn>> = {
  id: 'term_id',
  source: 'source_term',
  term: 'source_term',
  target: 'recommended_translation',
  translation: 'recommended_translation',
  status: 'review_status',
  note: 'source_note',
};

/** Stands between the wordings of one cell. No wording has a line end. */
export const WORDING_SEPARATOR = '\n';

type Cells = Readonly<Partial<Record<TermColumn, string>>>;

/** A cell of another kind than its column has. */
class CellError extends Error {}

/** How tables of terms of one pair of languages are read. Rows without languages are of that pair. */
export function termTable(pair: LanguagePair): TableOptions<TermColumn, ReadTermResult> {
  return {
    columns: TERM_COLUMNS,
    aliases: TERM_COLUMN_ALIASES,
    required: ['source_term', 'recommended_translation'],
    read: (cells, line, remark) => readRow(cells, line, remark, pair),
  };
}

function readRow(cells: Cells, line: number, remark: string | null, pair: LanguagePair): ReadTermResult {
  const { source_language: source = '', target_language: target = '' } = cells;
  const isOfPair =
    (source === '' || isSameLanguage(source, pair.sourceLanguage)) &&
    (target === '' || isSameLanguage(target, pair.targetLanguage));
  if (!isOfPair) return { kind: 'other', line, languages: [source, target] };
  try {
    const remarks = remark === null ? [] : [{ kind: 'spreadsheet_value', message: remark } as const];
    return { kind: 'term', line, term: termOf(cells), remarks };
  } catch (error) {
    if (!(error instanceof CellError)) throw error;
    return { kind: 'problem', line, message: error.message };
  }
}

function termOf(cells: Cells): ReadTerm {
  const priority = priorityOf((cells.priority ?? '').trim() || '0');
  if (priority === null) throw new CellError('the priority is not a whole number');
  return {
    term_id: textOrNull(cells.term_id),
    source_term: cells.source_term ?? '',
    aliases: wordingsOf('aliases', cells.aliases),
    recommended_translation: cells.recommended_translation ?? '',
    allowed_translations: wordingsOf('allowed_translations', cells.allowed_translations),
    category: cells.category ?? '',
    priority,
    scope: scopeOf(cells.scope),
    review_status: statusOf(cells.review_status),
    source_ref: textOrNull(cells.source_ref),
    source_author: textOrNull(cells.source_author),
    source_note: textOrNull(cells.source_note),
  };
}

function textOrNull(cell: string | undefined): string | null {
  return cell === undefined || cell === '' ? null : cell;
}

function wordingsOf(column: string, cell = ''): string[] {
  const wordings = cell.split(WORDING_SEPARATOR).map((text) => text.replace(/\r$/, ''));
  const given = wordings.filter((text) => text !== '');
  if (given.length <= MAX_TERM_PARTS) return given;
  throw new CellError(`${column} has more than ${MAX_TERM_PARTS} wordings`);
}

function statusOf(cell = ''): ReviewStatus | null {
  const name = cell.trim().toLowerCase();
  if (name === '') return null;
  const status = REVIEW_STATUSES.find((known) => known === name);
  if (status !== undefined) return status;
  throw new CellError(`review_status is not one of ${REVIEW_STATUSES.join(', ')}`);
}

function scopeOf(cell = ''): Readonly<Record<string, string>> {
  if (cell.trim() === '') return {};
  const entries = Object.entries(parsedObject(cell));
  if (entries.length > MAX_TERM_PARTS) throw new CellError(`scope has more than ${MAX_TERM_PARTS} keys`);
  const texts = entries.map(([key, value]): [string, string] => {
    if (typeof value !== 'string')
      throw new CellError(`the value of "${key.slice(0, 40)}" in scope is not a text`);
    return [key, value];
  });
  return Object.fromEntries(texts);
}

function parsedObject(cell: string): object {
  try {
    const value: unknown = JSON.parse(cell);
    if (isRecord(value)) return value;
  } catch {
    // Refused below.
  }
  throw new CellError('scope is not a JSON object of texts, such as {"speaker":"アロナ"}');
}
