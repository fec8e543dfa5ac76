import type { FormatError } from '../format-error.ts';
import type { FoundText } from '../text/report-text.ts';

export interface CsvRow {
  readonly cells: readonly FoundText[];
  readonly start: number;
  /** Why the cells cannot be trusted. */
  readonly flaw: { readonly message: string; readonly position: number } | null;
}

interface RowScannerOptions {
  readonly maxCells: number;
  readonly fail: (message: string, position: number) => FormatError;
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
  options: RowScannerOptions,
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
      flaw ??= { message: 'a cell continues behind its closing quote', position: close + 1 };
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
