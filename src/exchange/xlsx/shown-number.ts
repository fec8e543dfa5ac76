import { format, getFormatFromId, isDateFormat, isValidFormat } from 'numfmt';

/** Days between the two first days of the calendars that workbooks have. */
const DAYS_TO_1904 = 1462;
/** Excel takes no longer ones. */
const MAX_PATTERN = 255;

/** The formats of numbers in a workbook. */
export interface NumberFormats {
  /** By the numbers that the workbook gives them. */
  readonly patterns: ReadonlyMap<number, string>;
  /** The number of the format of each format of cells. */
  readonly ofCells: readonly number[];
  readonly startsIn1904: boolean;
}

/**
 * A number as a spreadsheet shows it, which is what the person saw who wrote it: a date is one.
 *
 * @param cellFormat the index of the format of the cell
 */
export function shownNumber(text: string, cellFormat: number, formats: NumberFormats): string {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) return text;
  const id = formats.ofCells[cellFormat] ?? 0;
  const pattern = formats.patterns.get(id) ?? getFormatFromId(id);
  if (pattern.length > MAX_PATTERN || !isValidFormat(pattern)) return String(value);
  const shift = formats.startsIn1904 && isDateFormat(pattern) ? DAYS_TO_1904 : 0;
  return format(pattern, value + shift);
}
