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

/** One of {@link TERM_COLUMNS}. */
export type TermColumn = (typeof TERM_COLUMNS)[number];

/** Shorter names that people write. */
export const TERM_COLUMN_ALIASES: Readonly<Record<string, TermColumn>> = {
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
