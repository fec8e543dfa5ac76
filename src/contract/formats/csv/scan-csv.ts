import { ExchangeFileError } from '../exchange-file-error.ts';
import { MAX_TEXT_CHARACTERS } from '../text-limit.ts';

export interface CsvLine {
  readonly cells: readonly string[];
  readonly line: number;
  /** Only the last row of a file can lack its line end. */
  readonly hasLineEnd: boolean;
}

/** Cells of a row that are kept. Empty ones behind them are left out: spreadsheets write some thousands for a formatted row. */
const MAX_CELLS = 64;
const DELIMITERS = new Set([',', ';', '\t']);
/** Longer cells are of no unit: a text in full, and its guard. */
const MAX_CELL_CHARACTERS = MAX_TEXT_CHARACTERS + 16;

type State = 'cell start' | 'plain' | 'quoted' | 'quote in quoted';

/**
 * Scans RFC 4180 with lines that end with CRLF, LF or CR. The delimiter is a comma, a semicolon or a tab; the first one that
 * follows a cell of the first row decides, because spreadsheets choose by country. Rows of only empty cells are left out.
 */
export class CsvScanner {
  #state: State = 'cell start';
  #delimiter: string | null = null;
  #cell = '';
  #cells: string[] = [];
  #line = 1;
  #rowLine = 1;
  /** Whether the first cell of the row is in quotes. */
  #isQuoted = false;
  readonly #rows: CsvLine[] = [];
  #isBehindReturn = false;

  /** The rows that a further piece of the text completes. */
  write(text: string): CsvLine[] {
    for (let at = 0; at < text.length;) at = this.#step(text, at);
    return this.#rows.splice(0);
  }

  /** The last row. @throws ExchangeFileError when a quote is not closed, or the row is cut off */
  end(): CsvLine[] {
    if (this.#state === 'quoted') {
      const message = 'a quote is not closed; the file may be cut off';
      throw new ExchangeFileError('syntax_invalid', message, this.#rowLine);
    }
    if (this.#state === 'cell start' && this.#cells.length > 0 && this.#isQuoted) {
      // Programs that put every cell in quotes end the last row, so that a cut after a delimiter is found.
      const message = 'the last row ends after a delimiter; the file may be cut off';
      throw new ExchangeFileError('syntax_invalid', message, this.#rowLine);
    }
    this.#endRow(false);
    return this.#rows.splice(0);
  }

  /** Takes the character at a position, or a part of a quoted cell. Returns the next position. */
  #step(text: string, at: number): number {
    const character = text[at] ?? '';
    const isPair = this.#isBehindReturn && character === '\n';
    this.#isBehindReturn = false;
    if (isPair) return at + 1;
    if (this.#state === 'quoted') return this.#quotedPart(text, at);
    if (this.#state === 'quote in quoted' && character === '"') {
      this.#add('"');
      this.#state = 'quoted';
    } else if (character === '\n' || character === '\r') {
      this.#endRow(true);
      this.#line += 1;
      this.#rowLine = this.#line;
      this.#isBehindReturn = character === '\r';
    } else if (this.#isDelimiter(character)) {
      this.#endCell();
    } else if (this.#state === 'quote in quoted') {
      this.#refuse('syntax_invalid', 'a cell continues after its closing quote');
    } else if (this.#state === 'cell start' && character === '"') {
      this.#state = 'quoted';
      this.#isQuoted ||= this.#cells.length === 0;
    } else {
      this.#state = 'plain';
      this.#add(character);
    }
    return at + 1;
  }

  #quotedPart(text: string, at: number): number {
    const quote = text.indexOf('"', at);
    const end = quote === -1 ? text.length : quote;
    const part = text.slice(at, end);
    // A line feed that follows a return of the piece before belongs to the same line end.
    const isPair = part.startsWith('\n') && this.#cell.endsWith('\r');
    this.#line += part.split(/\r\n|\n|\r/).length - (isPair ? 2 : 1);
    this.#add(part);
    if (quote === -1) return end;
    this.#state = 'quote in quoted';
    return end + 1;
  }

  #add(part: string): void {
    this.#cell += part;
    if (this.#cell.length <= MAX_CELL_CHARACTERS) return;
    this.#refuse('limit_exceeded', `a cell has more than ${MAX_TEXT_CHARACTERS} characters`);
  }

  #isDelimiter(character: string): boolean {
    if (this.#delimiter !== null) return character === this.#delimiter;
    if (!DELIMITERS.has(character)) return false;
    this.#delimiter = character;
    return true;
  }

  #endCell(): void {
    if (this.#cells.length < MAX_CELLS) this.#cells.push(this.#cell);
    else if (this.#cell !== '') {
      this.#refuse('limit_exceeded', `a row has more than ${MAX_CELLS} cells`);
    }
    this.#cell = '';
    this.#state = 'cell start';
  }

  #endRow(hasLineEnd: boolean): void {
    this.#endCell();
    const cells = this.#cells;
    if (cells.some((cell) => cell !== '')) this.#rows.push({ cells, line: this.#rowLine, hasLineEnd });
    this.#cells = [];
    this.#isQuoted = false;
  }

  #refuse(reason: 'syntax_invalid' | 'limit_exceeded', message: string): never {
    throw new ExchangeFileError(reason, message, this.#line);
  }
}
