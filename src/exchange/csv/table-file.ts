import { createRowReader, type TableOptions } from '../../contract/formats/csv/read-rows.ts';
import { withGuard } from '../../contract/formats/csv/spreadsheet-guard.ts';
import { ExchangeFileError } from '../../contract/formats/exchange-file-error.ts';
import { createStreamDecoder } from '../decode-stream.ts';
import type { FileReader } from '../file-codec.ts';

/** Makes a reader of the files of tables: UTF-8, or UTF-16 with a byte order mark. */
export function createTableReader<C extends string, T>(options: TableOptions<C, T>): FileReader<T> {
  const decoder = createStreamDecoder();
  const rows = createRowReader(options);
  return {
    write: (bytes) => rows.write(decoder.write(bytes)),
    end: () => [...rows.write(decoder.end()), ...rows.end()],
  };
}

/**
 * The beginning of a table of RFC 4180 that spreadsheets open and write back without a change: the byte order mark of UTF-8, and
 * the names of the columns.
 */
export function tableHead(columns: readonly string[]): string {
  return `\uFEFF${row(columns)}`;
}

/**
 * One row, every cell in quotes, with a guard before cells that a spreadsheet would run or change. A missing text is an empty
 * cell.
 *
 * @param name of the row, for the message of a refusal
 * @throws ExchangeFileError `character_unsupported`
 */
export function tableRow<C extends string>(
  name: string,
  columns: readonly C[],
  cells: Readonly<Record<C, string | null>>,
): string {
  return row(columns.map((column) => cellOf(name, column, cells[column])));
}

/** Spreadsheets end a text at NUL, and UTF-8 has no surrogates. */
function cellOf(name: string, column: string, text: string | null): string {
  if (text === null) return '';
  if (text.isWellFormed() && !text.includes('\0')) return withGuard(text);
  throw new ExchangeFileError(
    'character_unsupported',
    `${name}: CSV cannot carry NUL and lone surrogates; the column ${column} has one`,
    null,
  );
}

function row(cells: readonly string[]): string {
  return `${cells.map((text) => `"${text.replaceAll('"', '""')}"`).join(',')}\r\n`;
}
