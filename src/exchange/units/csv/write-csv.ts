import { ExchangeFileError } from '../../exchange-file-error.ts';
import type { UnitRecord, UnitWriter } from '../unit-record.ts';
import { withGuard } from './spreadsheet-guard.ts';
import { UNIT_COLUMNS, type UnitColumn } from './unit-columns.ts';

/**
 * Makes a writer of RFC 4180 that spreadsheets open and write back without a change: UTF-8 with its byte order mark, every
 * cell in quotes, and a guard before cells that they would run or change. A missing text is an empty cell.
 */
export function createCsvWriter(): UnitWriter {
  return {
    begin: () => `\uFEFF${row([...UNIT_COLUMNS])}`,
    write: (record) => {
      const cells = cellsOf(record);
      return row(UNIT_COLUMNS.map((column) => cell(record, column, cells[column])));
    },
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

/** Spreadsheets end a text at NUL, and UTF-8 has no surrogates. */
function cell(record: UnitRecord, column: UnitColumn, text: string | null): string {
  if (text === null) return '';
  if (text.isWellFormed() && !text.includes('\0')) return withGuard(text);
  throw new ExchangeFileError(
    'character_unsupported',
    `unit ${record.unit_id}: CSV cannot carry NUL and lone surrogates; the column ${column} has one`,
    null,
  );
}

function row(cells: readonly string[]): string {
  return `${cells.map((text) => `"${text.replaceAll('"', '""')}"`).join(',')}\r\n`;
}
