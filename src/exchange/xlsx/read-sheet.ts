import { ExchangeFileError } from '../../contract/formats/exchange-file-error.ts';
import { spreadsheetRemark } from '../../contract/formats/csv/spreadsheet-remark.ts';
import { findColumns, type TableColumns } from '../../contract/formats/table-columns.ts';
import { MAX_TEXT_CHARACTERS } from '../../contract/formats/text-limit.ts';
import type { XmlElement } from '../xml/xml-reader.ts';
import { columnLetters, columnOfReference, readCellText } from './cell-text.ts';
import { RichText } from './rich-text.ts';
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
}

/** Columns that a sheet may have. Source: Excel specifications and limits. */
const MAX_COLUMNS = 16_384;
const MAX_ROWS = 1_048_576;

type Cells<C extends string> = Readonly<Partial<Record<C, string>>>;

/** Where a row is. */
export interface SheetRow {
  /** The name of the sheet. */
  readonly sheet: string;
  /** The row in its sheet. */
  readonly line: number;
}

/** How the rows of a workbook become items. A sheet without the needed columns is no table. */
export interface WorkbookOptions<C extends string, T> extends TableColumns<C> {
  /**
   * @param values the texts of the cells by their columns
   * @param remark what a spreadsheet may have done to the target; `null` when nothing shows
   */
  readonly read: (values: Cells<C>, row: SheetRow, remark: string | null) => T;
  /** A row of which a cell cannot be used. */
  readonly problem: (values: Cells<C>, row: SheetRow, message: string) => T;
}

/** Types of cells that are no texts: numbers, truth values, dates. */
const VALUE_TYPES: ReadonlySet<string> = new Set(['n', 'b', 'd']);

/** Reads the rows of one sheet. The first row with a text names the columns. */
export class SheetReader<C extends string, T> {
  readonly #options: WorkbookOptions<C, T>;
  readonly #shared: SharedParts;
  readonly #name: string;
  readonly #text = new RichText();
  #columns: ReadonlyMap<number, C> | null = null;
  #hasNames = false;
  #row = 0;
  #values: Map<number, string> = new Map();
  /** The places of cells that are no texts. */
  #valueCells: Set<number> = new Set();
  #problem: string | null = null;
  #cell: Cell | null = null;
  #nextColumn = 0;
  readonly #columnsOfRow = new Set<number>();
  #items: T[] = [];

  constructor(name: string, options: WorkbookOptions<C, T>, shared: SharedParts) {
    this.#name = name;
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
    this.#text.open(name);
  }

  text(text: string): void {
    if (this.#cell === null || this.#text.add(text)) return;
    this.#refuse('limit_exceeded', `a cell has more than ${MAX_TEXT_CHARACTERS} characters`);
  }

  close(name: string): void {
    this.#text.close(name);
    if (name === 'c') this.#closeCell();
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
    this.#valueCells = new Set();
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
    this.#cell = { column, type, format: Number(format), hasFormula: false };
  }

  #closeCell(): void {
    const cell = this.#cell;
    const value = this.#text.take();
    this.#cell = null;
    if (cell === null || (this.#hasNames && this.#columns?.has(cell.column) !== true)) return;
    const place = `the cell ${columnLetters(cell.column)}${this.#row}`;
    if (cell.hasFormula) {
      // Formulas are never computed, and what another program made of one may be old.
      this.#problem ??= `${place} has a formula; replace it by its text (paste as values)`;
      return;
    }
    if (cell.type === 'e') this.#problem ??= `${place} shows the error ${value.slice(0, 20)}`;
    const text = this.#shownText(cell, value);
    if (text === '') return;
    this.#values.set(cell.column, text);
    if (VALUE_TYPES.has(cell.type)) this.#valueCells.add(cell.column);
  }

  #shownText({ type, format }: Cell, value: string): string {
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
      this.#columns = this.#findColumns();
      return;
    }
    if (this.#columns === null) return;
    const values: Partial<Record<C, string>> = {};
    for (const [place, column] of this.#columns) values[column] = this.#values.get(place) ?? '';
    const row = { sheet: this.#name, line: this.#row };
    this.#items.push(
      this.#problem === null
        ? this.#options.read(values, row, this.#remark(this.#columns))
        : this.#options.problem(values, row, this.#problem),
    );
  }

  /** @returns `null` when a needed column is missing */
  #findColumns(): ReadonlyMap<number, C> | null {
    const { columns, fault } = findColumns(this.#values, this.#options);
    if (fault === null) return columns;
    if (fault.count === 0) return null;
    const message = `the first row names the column ${fault.column} ${fault.count} times`;
    return this.#refuse('structure_invalid', message);
  }

  #remark(columns: ReadonlyMap<number, C>): string | null {
    const { required } = this.#options;
    const [source = -1, target = -1] = required.map((needed) =>
      [...columns.keys()].find((place) => columns.get(place) === needed),
    );
    const [before = '', text = ''] = [this.#values.get(source), this.#values.get(target)];
    const remark = spreadsheetRemark(text, before);
    if (remark !== null || text === before || !this.#valueCells.has(target)) return remark;
    const shown = JSON.stringify(text.slice(0, 60).toWellFormed());
    return `the target ${shown} is a number, a date or a truth value and no text; a spreadsheet may have made it of another text`;
  }

  #refuse(reason: 'structure_invalid' | 'limit_exceeded', message: string): never {
    throw new ExchangeFileError(reason, `row ${this.#row}: ${message}`, Math.max(this.#row, 1));
  }
}
