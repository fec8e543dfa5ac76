import { ExchangeFileError } from '../exchange-file-error.ts';
import { CsvScanner, type CsvLine } from './scan-csv.ts';
import { withoutGuard } from './spreadsheet-guard.ts';
import { spreadsheetRemark } from './spreadsheet-remark.ts';
import { findColumns, type TableColumns } from '../table-columns.ts';

export interface TableOptions<C extends string, T> extends TableColumns<C> {
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
  let head: TableHead<C> | null = null;

  const readRow = (row: CsvLine): T[] => {
    if (head === null) {
      const isSeparatorLine = SEPARATOR_LINE.test(row.cells[0] ?? '') && row.line === 1;
      if (!isSeparatorLine) head = headOf(row, options);
      return [];
    }
    checkLength(row, head.width);
    const [source = '', target = ''] = head.texts.map((place) => row.cells[place] ?? '');
    const remark = spreadsheetRemark(target, withoutGuard(source));
    return [options.read(valuesOf(row, head), row.line, remark)];
  };

  return {
    write: (text) => scanner.write(text).flatMap(readRow),
    end() {
      const results = scanner.end().flatMap(readRow);
      if (head === null) throw new ExchangeFileError('structure_invalid', 'the table has no row of names', 1);
      return results;
    },
  };
}

/** What the first row says. */
interface TableHead<C extends string> {
  /** The number of its cells. */
  readonly width: number;
  /** The columns by their places. */
  readonly columns: ReadonlyMap<number, C>;
  /** The places of the source and the target. */
  readonly texts: readonly number[];
}

function headOf<C extends string>({ cells, line }: CsvLine, options: TableColumns<C>): TableHead<C> {
  const { columns, fault } = findColumns(cells.entries(), options);
  if (fault !== null) {
    const { column, count } = fault;
    const names =
      count === 0 ? `does not name the column ${column}` : `names the column ${column} ${count} times`;
    throw new ExchangeFileError('structure_invalid', `the first row ${names}`, line);
  }
  const places = new Map([...columns].map(([place, column]) => [column, place]));
  return { width: cells.length, columns, texts: options.required.map((needed) => places.get(needed) ?? -1) };
}

/** @throws ExchangeFileError for a row with cells of no column, and for a last row that is cut off */
function checkLength({ cells, line, hasLineEnd }: CsvLine, width: number): void {
  const counts = `the row has ${cells.length} cells instead of ${width}`;
  if (cells.slice(width).some((cell) => cell !== '')) {
    const message = `${counts}; put a text that has the delimiter in quotes`;
    throw new ExchangeFileError('structure_invalid', message, line);
  }
  // No spreadsheet leaves out both the last cells and the line end, but a cut does.
  if (cells.length < width && !hasLineEnd) {
    throw new ExchangeFileError('structure_invalid', `${counts}; the file may be cut off`, line);
  }
}

function valuesOf<C extends string>(
  { cells }: CsvLine,
  { columns }: TableHead<C>,
): Partial<Record<C, string>> {
  const values: Partial<Record<C, string>> = {};
  for (const [place, column] of columns) values[column] = withoutGuard(cells[place] ?? '');
  return values;
}
