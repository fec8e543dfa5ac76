import { FormatError } from '../format-error.ts';
import { byteOffsets, type DecodedText } from '../text/decode-text.ts';
import { reportText, type FoundText, type ReadTarget } from '../text/report-text.ts';

/** What can separate columns, in the order in which they are tried. */
export const DELIMITERS = [',', ';', '\t', '|'] as const;

export interface CsvOptions {
  /** `auto`: see {@link delimiterOf}. */
  readonly delimiter: (typeof DELIMITERS)[number] | 'auto';
  readonly header: boolean;
}

/**
 * Reads a table of separated values (RFC 4180; lines can also end with LF or CR): the field `row`, an array of one object
 * for each row below the header, with a text for each column. See {@link columnNames} for the names of the columns. A
 * line without a character is not a row. A quote inside an unquoted cell is an ordinary character.
 *
 * A row that has another number of cells than the first one, or something behind the closing quote of a cell, is a part
 * error `csv_invalid`, and an element without texts, so that the next rows keep their index. A row with an unclosed quote
 * is such a row too, and the last one.
 *
 * @throws FormatError `csv_invalid` for a header that cannot be read, `container_limit_exceeded`
 */
export function readCsv(decoded: DecodedText, options: CsvOptions, target: ReadTarget): void {
  const { visitor, limits } = target;
  const byteOffsetOf = byteOffsets(decoded);
  const nextRow = createRowScanner(decoded.text, delimiterOf(decoded.text, options), {
    maxCells: limits.elements,
    fail: (message, position) => new FormatError('container_limit_exceeded', message, byteOffsetOf(position)),
  });
  const first = nextRow();
  const columns = namesOf(first, options);
  visitor.field('row');
  visitor.beginArray();
  let index = 0;
  for (let row = options.header ? nextRow() : first; row !== null; row = nextRow()) {
    if (index === limits.elements) {
      const message = `the table has more than ${limits.elements} rows`;
      throw new FormatError('container_limit_exceeded', message, byteOffsetOf(row.start));
    }
    const flaw = row.flaw ?? lengthFlaw(row, columns.length);
    if (flaw === null) {
      reportRow(target, row, columns, index);
    } else {
      visitor.other();
      const error = new FormatError('csv_invalid', flaw.message, byteOffsetOf(flaw.position));
      target.reportPartError(error, `row[${index}]`);
    }
    index += 1;
  }
  visitor.endArray();

  function namesOf(row: CsvRow | null, { header }: CsvOptions): string[] {
    if (row === null) return [];
    if (!header) return columnNames(row.cells.map(() => ''));
    if (row.flaw !== null) {
      throw new FormatError(
        'csv_invalid',
        `in the header ${row.flaw.message}`,
        byteOffsetOf(row.flaw.position),
      );
    }
    return columnNames(row.cells.map(({ value }) => value.toWellFormed()));
  }
}

/** The character that separates the columns. `auto`: the one that separates the first row into the most, else a comma. */
export function delimiterOf(text: string, { delimiter }: CsvOptions): string {
  if (delimiter !== 'auto') return delimiter;
  const plain = firstRowOf(text).replaceAll(/"(?:[^"]|"")*"/g, '');
  let best: string = DELIMITERS[0];
  let most = 0;
  for (const each of DELIMITERS) {
    const count = plain.split(each).length;
    if (count > most) [best, most] = [each, count];
  }
  return best;
}

/** The first row, with the line ends in front of it: what a delimiter is found by. */
export function firstRowOf(text: string): string {
  return /^[\r\n]*(?:"(?:[^"]|"")*"|[^"\r\n])*/.exec(text.slice(0, MAX_HEADER))?.[0] ?? '';
}

/** UTF-16 code units of the first row in which separators are counted. */
const MAX_HEADER = 64 * 1024;

function lengthFlaw({ cells, start }: CsvRow, expected: number): CsvRow['flaw'] {
  if (cells.length === expected) return null;
  return { message: `the row has ${cells.length} cells instead of ${expected}`, position: start };
}

function reportRow(target: ReadTarget, row: CsvRow, columns: readonly string[], index: number): void {
  const { visitor } = target;
  visitor.beginObject();
  for (const [at, cell] of row.cells.entries()) reportCell(target, cell, columns[at] ?? '', index);
  visitor.endObject();
}

function reportCell(target: ReadTarget, cell: FoundText, column: string, index: number): void {
  target.visitor.field(column);
  reportText(target, cell, () => `row[${index}].${column}`);
}

/**
 * Makes the names of columns unique and not empty. A name keeps its form where it appears first. A name that appears
 * again is numbered: `text`, `text_2`, `text_3`. A column without a name has its position from 0 as its name. A name
 * that another column has in the header is never given to a column; the number grows until it is free.
 */
export function columnNames(header: readonly string[]): string[] {
  const taken = new Set(header);
  const seen = new Set<string>();
  const lastNumber = new Map<string, number>();
  return header.map((name, position) => {
    if (name !== '' && !seen.has(name)) {
      seen.add(name);
      return name;
    }
    const base = name === '' ? String(position) : name;
    let number = lastNumber.get(base) ?? (name === '' ? 0 : 1);
    let candidate = base;
    for (; taken.has(candidate); candidate = `${base}_${number}`) number += 1;
    lastNumber.set(base, number);
    taken.add(candidate);
    return candidate;
  });
}

interface CsvRow {
  readonly cells: readonly FoundText[];
  readonly start: number;
  /** Why the cells cannot be trusted. */
  readonly flaw: { readonly message: string; readonly position: number } | null;
}

const QUOTE = 0x22;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Splits a text into rows and cells. Positions include the quotes of a cell.
 *
 * @returns the next row, or `null` at the end; it throws an error made by `fail`
 */
export function createRowScanner(
  text: string,
  delimiter: string,
  options: {
    readonly maxCells: number;
    readonly fail: (message: string, position: number) => FormatError;
  },
): () => CsvRow | null {
  const delimiterCode = delimiter.charCodeAt(0);
  let position = 0;
  let flaw: CsvRow['flaw'] = null;

  /** The end of characters without quotes: a delimiter, a line end or the end of the text. */
  const plainEnd = (from: number): number => {
    let at = from;
    for (; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === delimiterCode || code === LINE_FEED || code === CARRIAGE_RETURN) break;
    }
    return at;
  };

  const plainCell = (start: number): FoundText => {
    position = plainEnd(start);
    return { value: text.slice(start, position), start, end: position };
  };

  const quotedCell = (start: number): FoundText => {
    let doubled = false;
    let close = text.indexOf('"', start + 1);
    while (close !== -1 && text.charCodeAt(close + 1) === QUOTE) {
      doubled = true;
      close = text.indexOf('"', close + 2);
    }
    if (close === -1) {
      // Where the cell ends is not known, so the row is the last one.
      flaw ??= { message: 'a quote is not closed', position: start };
      position = text.length;
      return { value: '', start, end: position };
    }
    const value = text.slice(start + 1, close);
    position = plainEnd(close + 1);
    if (position > close + 1) {
      flaw ??= { message: 'a cell continues after its closing quote', position: close + 1 };
    }
    return { value: doubled ? value.replaceAll('""', '"') : value, start, end: position };
  };

  const skipLineEnd = (): void => {
    const isPair =
      text.charCodeAt(position) === CARRIAGE_RETURN && text.charCodeAt(position + 1) === LINE_FEED;
    position += isPair ? 2 : 1;
  };

  const isLineEnd = (): boolean => {
    const code = text.charCodeAt(position);
    return code === LINE_FEED || code === CARRIAGE_RETURN;
  };

  return () => {
    while (isLineEnd()) skipLineEnd();
    if (position === text.length) return null;
    const start = position;
    const cells: FoundText[] = [];
    flaw = null;
    for (;;) {
      if (cells.length === options.maxCells) {
        throw options.fail(`a row has more than ${options.maxCells} cells`, position);
      }
      cells.push(text.charCodeAt(position) === QUOTE ? quotedCell(position) : plainCell(position));
      if (text.charCodeAt(position) !== delimiterCode) break;
      position += 1;
    }
    if (position < text.length) skipLineEnd();
    return { cells, start, flaw };
  };
}
