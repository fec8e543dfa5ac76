/** Reads a table of separated values, as spreadsheets write it; pure. */

/** A row and the line that it begins on. */
export interface TableRow {
  readonly cells: readonly string[];
  readonly line: number;
}

/** A cell in quotes or without, and what ends it: a delimiter, a line end or the end of the text. */
const CELL = /("(?:[^"]|"")*"|[^,;\t\r\n"]*)(,|;|\t|\r\n|\r|\n|$)/y;

/**
 * Splits a text into rows (RFC 4180, with lines that end with CRLF, LF or CR). The first delimiter decides between comma,
 * semicolon and tab, because spreadsheets choose by country. Empty lines are left out.
 *
 * @throws Error that names the line, when a quote is not closed or a cell continues behind one
 */
export function readTable(text: string): readonly TableRow[] {
  const delimiter = delimiterOf(text);
  const rows: TableRow[] = [];
  let [cells, cell, line, rowLine]: [string[], string, number, number] = [[], '', 1, 1];
  for (CELL.lastIndex = 0; CELL.lastIndex <= text.length;) {
    const [found, content = '', end = ''] = CELL.exec(text) ?? [];
    if (found === undefined)
      throw new Error(`Line ${line}: a quote is not closed, or a cell continues behind one.`);
    line += content.split(/\r\n|\r|\n/).length - 1;
    const isQuoted = content.startsWith('"');
    cell += isQuoted ? content.slice(1, -1).replaceAll('""', '"') : content;
    // The other delimiters are text.
    if (/[,;\t]/.test(end) && end !== delimiter) {
      cell += end;
      continue;
    }
    cells.push(cell);
    cell = '';
    if (end === delimiter) continue;
    if (cells.some((each) => each !== '')) rows.push({ cells, line: rowLine });
    if (end === '') break;
    cells = [];
    line += 1;
    rowLine = line;
  }
  return rows;
}

function delimiterOf(text: string): string {
  const [head = ''] = text.split(/[\r\n]/, 1);
  return /[,;\t]/.exec(head.replaceAll(/"(?:[^"]|"")*"/g, ''))?.[0] ?? ',';
}
