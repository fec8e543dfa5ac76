import { tableHead, tableRow } from '../../csv/write-table.ts';
import type { UnitRecord, UnitWriter } from '../unit-record.ts';
import { UNIT_COLUMNS, type UnitColumn } from './unit-columns.ts';

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
