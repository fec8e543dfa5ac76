import { createTableReader } from '../../csv/read-table.ts';
import { readUnit } from '../read-unit.ts';
import type { UnitReader } from '../unit-record.ts';
import { COLUMN_ALIASES, UNIT_COLUMNS, type UnitColumn } from './unit-columns.ts';

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
