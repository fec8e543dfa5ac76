import { createTableReader, tableHead, tableRow } from '../csv/table-file.ts';
import { readUnit } from './read-unit.ts';
import type { UnitReader, UnitRecord, UnitWriter } from './unit-record.ts';

const UNIT_COLUMNS = [
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

type UnitColumn = (typeof UNIT_COLUMNS)[number];

const COLUMN_ALIASES: Readonly<Record<string, UnitColumn>> = {
  id: 'unit_id',
  source: 'source_text',
  target: 'target_text',
  translation: 'target_text',
};

/** Makes a reader of tables of units. */
export function createCsvReader(): UnitReader {
  const reader = createTableReader({
    columns: UNIT_COLUMNS,
    aliases: COLUMN_ALIASES,
    required: ['source_text', 'target_text'],
    read: (values, line) => readUnit(unitValues(values), line),
  });
  return { ...reader, languages: () => ({}) };
}

function unitValues(cells: Readonly<Partial<Record<UnitColumn, string>>>): Record<string, unknown> {
  // A missing text and an empty one are the same cell, and a source is never missing.
  const entries = Object.entries(cells).map(([column, text]): [string, unknown] => [
    column,
    text === '' && column !== 'source_text' ? null : text,
  ]);
  const values = Object.fromEntries(entries);
  const context = values['context'];
  if (typeof context === 'string') values['context'] = parsed(context);
  return values;
}

/** A context that is not JSON stays a text, and is refused like other values of a wrong kind. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Makes a writer of tables that spreadsheets open and write back without a change. */
export function createCsvWriter(): UnitWriter {
  return {
    begin: () => tableHead(UNIT_COLUMNS),
    write: (record) => tableRow(`unit ${record.unit_id}`, UNIT_COLUMNS, cellsOf(record)),
    end: () => '',
  };
}

function cellsOf(record: UnitRecord): Readonly<Record<UnitColumn, string | null>> {
  const { locator, context } = record;
  return {
    unit_id: record.unit_id,
    state: record.state,
    source_text: record.source_text,
    target_text: record.target_text,
    note: record.note,
    context: Object.keys(context).length === 0 ? null : JSON.stringify(context),
    destination: locator.destination,
    archive_entry: locator.archive_entry,
    path_id: locator.path_id,
    field_path: locator.field_path,
    previous_source: record.previous_source,
    previous_target: record.previous_target,
    revision: record.revision === null ? null : String(record.revision),
  };
}
