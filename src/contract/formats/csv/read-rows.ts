import { ExchangeFileError } from '../exchange-file-error.ts';
import { CsvScanner, type CsvLine } from './scan-csv.ts';
import { withoutGuard } from './spreadsheet-guard.ts';
import { spreadsheetRemark } from './spreadsheet-remark.ts';

export interface TableOptions<C extends string, T> {
  readonly columns: readonly C[];
  /** Other names of columns, in lower case. */
  readonly aliases: Readonly<Record<string, C>>;
  /** The columns that every table has. */
  readonly required: readonly [source: C, target: C];
  /**
   * @param values the cells by their columns, without their guards
   * @param remark what a spreadsheet may have done to the target; `null` when nothing shows
   */
  readonly read: (values: Readonly<Partial<Record<C, string>>>, line: number, remark: string | null) => T;
}

interface RowReader<T> {
  /** @throws ExchangeFileError with line and reason */
  write(text: string): T[];
  /** The rest. @throws ExchangeFileError when the table is cut off */
  end(): T[];
}

/** The first line by which spreadsheets are told the delimiter, as `sep=;`: alone, or divided by this delimiter. */
const SEPARATOR_LINE = /^sep=.?$/i;

/**
 * Makes a reader of tables with commas, semicolons or tabs. The first row names the columns, in any order; columns with other names
 * are left out. A row may lack its last cells, as spreadsheets write rows that end with empty ones.
 */
export function createRowReader<C extends string, T>(options: TableOptions<C, T>): RowReader<T> {
  const scanner = new CsvScanner();
  let columns: readonly (C | null)[] | null = null;
  /** The places of the source and the target. */
  let places = [-1, -1];

  const readRow = (row: CsvLine): T[] => {
    if (columns === null) {
      const isSeparatorLine = SEPARATOR_LINE.test(row.cells[0] ?? '') && row.line === 1;
      if (!isSeparatorLine) {
        const found = columnsOf(row, options);
        columns = found;
        places = options.required.map((column) => found.indexOf(column));
      }
      return [];
    }
    checkLength(row, columns);
    const [source = '', target = ''] = places.map((place) => row.cells[place] ?? '');
    const remark = spreadsheetRemark(target, withoutGuard(source));
    return [options.read(valuesOf(row, columns), row.line, remark)];
  };

  return {
    write: (text) => scanner.write(text).flatMap(readRow),
    end() {
      const results = scanner.end().flatMap(readRow);
      if (columns === null)
        throw new ExchangeFileError('structure_invalid', 'the table has no row of names', 1);
      return results;
    },
  };
}

/** @throws ExchangeFileError for a row with cells of no column, and for a last row that is cut off */
function checkLength(row: CsvLine, columns: readonly unknown[]): void {
  const { cells, line, hasLineEnd } = row;
  const counts = `the row has ${cells.length} cells instead of ${columns.length}`;
  if (cells.slice(columns.length).some((cell) => cell !== '')) {
    const message = `${counts}; put a text that has the delimiter in quotes`;
    throw new ExchangeFileError('structure_invalid', message, line);
  }
  // No spreadsheet leaves out both the last cells and the line end, but a cut does.
  if (cells.length < columns.length && !hasLineEnd) {
    throw new ExchangeFileError('structure_invalid', `${counts}; the file may be cut off`, line);
  }
}

function columnsOf<C extends string>(
  { cells, line }: CsvLine,
  { columns: known, aliases, required }: TableOptions<C, unknown>,
): (C | null)[] {
  const columns = cells.map((cell) => {
    const name = cell.trim().toLowerCase();
    const alias = Object.hasOwn(aliases, name) ? aliases[name] : undefined;
    return known.find((column) => column === name) ?? alias ?? null;
  });
  for (const needed of required) {
    const count = columns.filter((column) => column === needed).length;
    if (count === 1) continue;
    const message = `the first row names the column ${needed} ${count} times instead of once`;
    throw new ExchangeFileError('structure_invalid', message, line);
  }
  return columns;
}

function valuesOf<C extends string>(
  { cells }: CsvLine,
  columns: readonly (C | null)[],
): Partial<Record<C, string>> {
  const values: Partial<Record<C, string>> = {};
  for (const [at, column] of columns.entries()) {
    if (column !== null) values[column] = withoutGuard(cells[at] ?? '');
  }
  return values;
}
