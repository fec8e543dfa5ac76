import { ExchangeFileError } from '../../contract/formats/exchange-file-error.ts';
import { MAX_TEXT_CHARACTERS } from '../../contract/formats/text-limit.ts';
import type { XmlElement } from '../xml/xml-reader.ts';
import { columnLetters, columnOfReference, readCellText } from './cell-text.ts';
import { shownNumber, type NumberFormats } from './shown-number.ts';

/** The texts and formats that the cells of all sheets refer to. */
export interface SharedParts {
  readonly texts: readonly string[];
  readonly formats: NumberFormats;
}

interface Cell {
  readonly column: number;
  readonly type: string;
  readonly format: number;
  hasFormula: boolean;
  value: string;
}

/** Columns that a sheet may have. Source: Excel specifications and limits. */
const MAX_COLUMNS = 16_384;
const MAX_ROWS = 1_048_576;

/** How the rows of a workbook become items. */
export interface WorkbookOptions<C extends string, T> {
  readonly columns: readonly C[];
  /** Other names of columns, in lower case. */
  readonly aliases: Readonly<Record<string, C>>;
  /** Without each of them once, a sheet is no table. */
  readonly required: readonly C[];
  /** @param values the texts of the cells by their columns @param line the row in its sheet */
  readonly read: (values: Readonly<Partial<Record<C, string>>>, line: number) => T;
  /** A row of which a cell cannot be used. */
  readonly problem: (values: Readonly<Partial<Record<C, string>>>, line: number, message: string) => T;
}

/** Reads the rows of one sheet. The first row with a text names the columns. */
export class SheetReader<C extends string, T> {
  readonly #options: WorkbookOptions<C, T>;
  readonly #shared: SharedParts;
  #columns: ReadonlyMap<number, C> | null = null;
  #hasNames = false;
  #row = 0;
  #values: Map<number, string> = new Map();
  #problem: string | null = null;
  #cell: Cell | null = null;
  #nextColumn = 0;
  readonly #columnsOfRow = new Set<number>();
  /** What the text belongs to, and whether it is part of a reading aid. */
  #isValue = false;
  #isAid = false;
  #items: T[] = [];

  constructor(options: WorkbookOptions<C, T>, shared: SharedParts) {
    this.#options = options;
    this.#shared = shared;
  }

  /** Whether the sheet has a row with the needed names; others are left out. */
  get isTable(): boolean {
    return this.#columns !== null;
  }

  /** The items that are complete, once. */
  take(): T[] {
    const items = this.#items;
    this.#items = [];
    return items;
  }

  open({ name, attributes }: XmlElement): void {
    if (name === 'row') this.#openRow(attributes.get('r'));
    else if (name === 'c') this.#openCell(attributes);
    else if (name === 'f' && this.#cell !== null) this.#cell.hasFormula = true;
    else if (name === 'rPh') this.#isAid = true;
    this.#isValue = name === 'v' || name === 't';
  }

  text(text: string): void {
    if (!this.#isValue || this.#isAid || this.#cell === null) return;
    this.#cell.value += text;
    if (this.#cell.value.length <= MAX_TEXT_CHARACTERS) return;
    this.#refuse('limit_exceeded', `a cell has more than ${MAX_TEXT_CHARACTERS} characters`);
  }

  close(name: string): void {
    this.#isValue = false;
    if (name === 'rPh') this.#isAid = false;
    else if (name === 'c') this.#closeCell();
    else if (name === 'row') this.#closeRow();
  }

  #openRow(number: string | undefined): void {
    const row = number === undefined ? this.#row + 1 : Number(number);
    if (row > MAX_ROWS) this.#refuse('limit_exceeded', `the sheet has more than ${MAX_ROWS} rows`);
    if (!Number.isInteger(row) || row <= this.#row) {
      const message = `the row ${JSON.stringify(number?.slice(0, 20))} does not follow the row ${this.#row}`;
      this.#refuse('structure_invalid', message);
    }
    this.#row = row;
    this.#values = new Map();
    this.#problem = null;
    this.#nextColumn = 0;
    this.#columnsOfRow.clear();
  }

  #openCell(attributes: XmlElement['attributes']): void {
    const reference = attributes.get('r');
    const column = reference === undefined ? this.#nextColumn : columnOfReference(reference);
    if (column === null || column >= MAX_COLUMNS) {
      const message = `${JSON.stringify(reference?.slice(0, 20))} is not the place of a cell`;
      return this.#refuse('structure_invalid', message);
    }
    if (this.#columnsOfRow.has(column)) {
      this.#refuse('structure_invalid', `the cell ${columnLetters(column)}${this.#row} is there twice`);
    }
    this.#columnsOfRow.add(column);
    this.#nextColumn = column + 1;
    const [type = 'n', format = '0'] = [attributes.get('t'), attributes.get('s')];
    this.#cell = { column, type, format: Number(format), hasFormula: false, value: '' };
  }

  #closeCell(): void {
    const cell = this.#cell;
    this.#cell = null;
    if (cell === null || (this.#hasNames && this.#columns?.has(cell.column) !== true)) return;
    const place = `the cell ${columnLetters(cell.column)}${this.#row}`;
    if (cell.hasFormula) {
      // Formulas are never computed, and what another program made of one may be old.
      this.#problem ??= `${place} has a formula; replace it by its text (paste as values)`;
      return;
    }
    if (cell.type === 'e') this.#problem ??= `${place} shows the error ${cell.value.slice(0, 20)}`;
    const text = this.#shownText(cell);
    if (text !== '') this.#values.set(cell.column, text);
  }

  #shownText({ type, value, format }: Cell): string {
    switch (type) {
      case 's': {
        const text = this.#shared.texts[value === '' ? -1 : Number(value)];
        if (text !== undefined) return text;
        const message = `there is no shared text ${JSON.stringify(value.slice(0, 20))}`;
        return this.#refuse('structure_invalid', message);
      }
      case 'inlineStr':
      case 'str':
        return readCellText(value);
      case 'b':
        return value === '1' ? 'TRUE' : 'FALSE';
      case 'n':
        return value === '' ? '' : shownNumber(value, format, this.#shared.formats);
      default:
        return value;
    }
  }

  #closeRow(): void {
    const isEmpty = this.#values.size === 0 && this.#problem === null;
    if (isEmpty) return;
    if (!this.#hasNames) {
      this.#hasNames = true;
      this.#columns = columnsOf(this.#values, this.#options);
      return;
    }
    if (this.#columns === null) return;
    const values: Partial<Record<C, string>> = {};
    for (const [index, column] of this.#columns) values[column] = this.#values.get(index) ?? '';
    this.#items.push(
      this.#problem === null
        ? this.#options.read(values, this.#row)
        : this.#options.problem(values, this.#row, this.#problem),
    );
  }

  #refuse(reason: 'structure_invalid' | 'limit_exceeded', message: string): never {
    throw new ExchangeFileError(reason, `row ${this.#row}: ${message}`, Math.max(this.#row, 1));
  }
}

/** The columns by their places; `null` when a needed one is not there exactly once. */
function columnsOf<C extends string>(
  names: ReadonlyMap<number, string>,
  { columns: known, aliases, required }: WorkbookOptions<C, unknown>,
): ReadonlyMap<number, C> | null {
  const columns = new Map<number, C>();
  for (const [index, text] of names) {
    const name = text.trim().toLowerCase();
    const alias = Object.hasOwn(aliases, name) ? aliases[name] : undefined;
    const column = known.find((each) => each === name) ?? alias;
    if (column !== undefined) columns.set(index, column);
  }
  const found = [...columns.values()];
  const isTable = required.every((needed) => found.filter((column) => column === needed).length === 1);
  return isTable ? columns : null;
}
