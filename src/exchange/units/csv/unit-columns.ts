/** The columns of a table of units, in their order. */
export const UNIT_COLUMNS = [
  'unit_id',
  'state',
  'source_text',
  'target_text',
  'note',
  'context',
  'destination',
  'archive_entry',
  'path_id',
  'field_path',
  'previous_source',
  'previous_target',
  'revision',
] as const;

/** One of {@link UNIT_COLUMNS}. */
export type UnitColumn = (typeof UNIT_COLUMNS)[number];

/** Shorter names that people write. */
export const COLUMN_ALIASES: Readonly<Record<string, UnitColumn>> = {
  id: 'unit_id',
  source: 'source_text',
  target: 'target_text',
  translation: 'target_text',
};
