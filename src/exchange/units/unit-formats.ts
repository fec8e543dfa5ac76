import type { JsonObject } from '../json-values.ts';
import type { FormatName } from '../../contract/formats/exchange-formats.ts';
import { writeEntries, type EntryCount } from '../file-codec.ts';
import type { ReadResult, UnitLanguages, UnitReader, UnitWriter, UnitRecord } from './unit-record.ts';
import { createPoReader } from './po/read-po.ts';
import { createPoWriter } from './po/write-po.ts';
import { createXliffReader } from './xliff/read-xliff.ts';
import { createXliffOneWriter, createXliffTwoWriter } from './xliff/write-xliff.ts';
import { createJsonLinesReader, jsonLine } from '../jsonl/json-lines.ts';
import { readUnit } from './read-unit.ts';
import { createTableReader, tableHead, tableRow } from '../csv/table-file.ts';
import { createWorkbookReader } from '../xlsx/read-workbook.ts';
import { createWorkbookWriter, packWorkbook } from '../xlsx/write-workbook.ts';

const READERS: Readonly<Record<FormatName<'units'>, () => UnitReader>> = {
  'xliff-1.2': createXliffReader,
  'xliff-2.1': createXliffReader,
  xlsx: createXlsxReader,
  po: createPoReader,
  csv: createCsvReader,
  jsonl: createJsonlReader,
};

type TextFormat = Exclude<FormatName<'units'>, 'xlsx'>;
const WRITERS: Readonly<
  Record<TextFormat, (languages: UnitLanguages, copiesSource?: boolean) => UnitWriter>
> = {
  'xliff-1.2': createXliffOneWriter,
  'xliff-2.1': createXliffTwoWriter,
  po: createPoWriter,
  csv: createCsvWriter,
  jsonl: createJsonlWriter,
};

/** Makes a reader of the files of a format. */
export function createUnitReader(format: FormatName<'units'>): UnitReader {
  return READERS[format]();
}

/**
 * Reads the units of a file one by one. A file that is refused later gave units before: use them only after the end.
 *
 * @throws ExchangeFileError with line and reason
 */
export async function* readUnits(
  reader: UnitReader,
  file: AsyncIterable<Uint8Array>,
): AsyncGenerator<ReadResult> {
  for await (const bytes of file) yield* reader.write(bytes);
  yield* reader.end();
}

/**
 * Writes units one by one.
 *
 * @param file.copiesSource whether a missing target is written as a copy of its source; only for `COPYING_FORMATS` of the contract,
 * where it has a default
 * @returns the parts of the file
 */
export function writeUnits(
  file: {
    readonly format: FormatName<'units'>;
    readonly languages: UnitLanguages;
    readonly copiesSource?: boolean | undefined;
  },
  records: AsyncIterable<UnitRecord> | Iterable<UnitRecord>,
  count: EntryCount<UnitRecord>,
): AsyncGenerator<string | Uint8Array> {
  const { format, languages, copiesSource } = file;
  return format === 'xlsx'
    ? packWorkbook(writeEntries(createWorkbookWriter(UNIT_SHEETS), records, count))
    : writeEntries(WRITERS[format](languages, copiesSource), records, count);
}

const JSONL_FORMAT = 'slipway-units-1';

/** Makes a writer of one JSON object a line. It carries every text, also lone surrogates, as escapes. */
function createJsonlWriter({ sourceLanguage, targetLanguage }: UnitLanguages): UnitWriter {
  let units = 0;
  return {
    begin: () =>
      jsonLine({ format: JSONL_FORMAT, source_language: sourceLanguage, target_language: targetLanguage }),
    write(record) {
      units += 1;
      return jsonLine(record);
    },
    end: () => jsonLine({ end: true, units }),
  };
}

/** Makes a reader of one unit a line. The first line of our own files names the languages. */
function createJsonlReader(): UnitReader {
  const reader = createJsonLinesReader({
    format: JSONL_FORMAT,
    counted: 'units',
    itemKey: 'unit_id',
    read: readUnit,
  });
  return { ...reader, languages: () => languagesOf(reader.header() ?? {}) };
}

function languagesOf({
  source_language: source,
  target_language: target,
}: JsonObject): Partial<UnitLanguages> {
  return {
    ...(typeof source === 'string' ? { sourceLanguage: source } : {}),
    ...(typeof target === 'string' ? { targetLanguage: target } : {}),
  };
}

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

function createCsvReader(): UnitReader {
  const reader = createTableReader({
    columns: UNIT_COLUMNS,
    aliases: COLUMN_ALIASES,
    required: ['source_text', 'target_text'],
    read: (values, line, remark) => {
      const result = readUnit(unitValues(values), line);
      return result.kind === 'unit' ? { ...result, table: { remark } } : result;
    },
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

/**
 * The value of a cell of JSON. The plain text of another program is left out like its other columns; a damaged object stays a text,
 * which is refused like other values of a wrong kind.
 */
function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return text.trimStart().startsWith('{') ? text : null;
  }
}

/** The sheets of units: people change the targets alone, since nothing else comes back. */
const UNIT_SHEETS = {
  columns: UNIT_COLUMNS,
  wide: new Set<UnitColumn>(['source_text', 'target_text', 'note', 'previous_source', 'previous_target']),
  editable: new Set<UnitColumn>(['target_text']),
  fileOf: ({ locator }: UnitRecord) => locator.destination,
  nameOf: ({ unit_id: id }: UnitRecord) => `unit ${id}`,
  cellsOf,
};

function createXlsxReader(): UnitReader {
  const reader = createWorkbookReader<UnitColumn, ReadResult>({
    columns: UNIT_COLUMNS,
    aliases: COLUMN_ALIASES,
    required: ['source_text', 'target_text'],
    read: (values, { sheet, line }, remark) => {
      const result = { ...readUnit(unitValues(values), line), sheet };
      // LibreOffice turns returns in a cell with several lines into line feeds.
      return result.kind === 'unit' ? { ...result, table: { remark } } : result;
    },
    problem: ({ unit_id: id = '' }, row, message) => ({
      kind: 'problem',
      ...row,
      unit_id: id === '' ? null : id,
      reason: 'value_invalid',
      message,
    }),
  });
  return { ...reader, languages: () => ({}) };
}

/** Makes a writer of tables that spreadsheets open and write back without a change. */
function createCsvWriter(): UnitWriter {
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
