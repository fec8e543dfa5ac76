import { ExchangeFileError } from '../exchange-file-error.ts';
import { CsvScanner, type CsvLine } from './scan-csv.ts';
import { withoutGuard } from './spreadsheet-guard.ts';

export interface TableOptions<C extends string, T> {
  readonly columns: readonly C[];
  /** Other names of columns, in lower case. */
  readonly aliases: Readonly<Record<string, C>>;
  readonly required: readonly C[];
  /** @param values the cells by their columns, without their guards */
  readonly read: (values: Readonly<Partial<Record<C, string>>>, line: number) => T;
}

interface RowReader<T> {
  /** @throws ExchangeFileError with line and reason */
  write(text: string): T[];
  /** The rest. @throws ExchangeFileError when the table is cut off */
  end(): T[];
}

/**
 * Makes a reader of tables with commas, semicolons or tabs. The first row names the columns, in any order; columns with other names
 * are left out.
 */
export function createRowReader<C extends string, T>(options: TableOptions<C, T>): RowReader<T> {
  const scanner = new CsvScanner();
  let columns: readonly (C | null)[] | null = null;

  const readRow = (row: CsvLine): T[] => {
    if (columns === null) {
      columns = columnsOf(row, options);
      return [];
    }
    if (row.cells.length !== columns.length) {
      const message = `the row has ${row.cells.length} cells instead of ${columns.length}; the file may be cut off`;
      throw new ExchangeFileError('structure_invalid', message, row.line);
    }
    return [options.read(valuesOf(row, columns), row.line)];
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
