import { createStreamDecoder } from '../../decode-stream.ts';
import { ExchangeFileError } from '../../exchange-file-error.ts';
import { readUnit } from '../read-unit.ts';
import type { ReadResult, UnitReader } from '../unit-record.ts';
import { createCsvScanner, type CsvLine } from './scan-csv.ts';
import { withoutGuard } from './spreadsheet-guard.ts';
import { COLUMN_ALIASES, UNIT_COLUMNS, type UnitColumn } from './unit-columns.ts';

/**
 * Makes a reader of tables of units: UTF-8, or UTF-16 with a byte order mark, with commas, semicolons or tabs. The first
 * row names the columns, in any order; columns with other names are left out.
 */
export function createCsvReader(): UnitReader {
  const decoder = createStreamDecoder();
  const scanner = createCsvScanner();
  let columns: readonly (UnitColumn | null)[] | null = null;

  const readRow = (row: CsvLine): ReadResult[] => {
    if (columns === null) {
      columns = columnsOf(row);
      return [];
    }
    if (row.cells.length !== columns.length) {
      const message = `the row has ${row.cells.length} cells instead of ${columns.length}; the file may be cut off`;
      throw new ExchangeFileError('structure_invalid', message, row.line);
    }
    return [readUnit(valuesOf(row, columns), row.line)];
  };

  return {
    write: (bytes) => scanner.write(decoder.write(bytes)).flatMap(readRow),
    end() {
      const rows = [...scanner.write(decoder.end()), ...scanner.end()];
      const results = rows.flatMap(readRow);
      if (columns === null)
        throw new ExchangeFileError('structure_invalid', 'the table has no row of names', 1);
      return results;
    },
    languages: () => ({}),
  };
}

function columnsOf({ cells, line }: CsvLine): (UnitColumn | null)[] {
  const columns = cells.map((cell) => {
    const name = cell.trim().toLowerCase();
    return UNIT_COLUMNS.find((column) => column === name) ?? COLUMN_ALIASES[name] ?? null;
  });
  for (const needed of ['source_text', 'target_text'] as const) {
    const count = columns.filter((column) => column === needed).length;
    if (count === 1) continue;
    const message = `the first row names the column ${needed} ${count} times instead of once`;
    throw new ExchangeFileError('structure_invalid', message, line);
  }
  return columns;
}

function valuesOf({ cells }: CsvLine, columns: readonly (UnitColumn | null)[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [at, column] of columns.entries()) {
    const text = withoutGuard(cells[at] ?? '');
    if (column === null) continue;
    // A missing text and an empty one are the same cell, and a source is never missing.
    values[column] = text === '' && column !== 'source_text' ? null : text;
  }
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
