/** Cells that a spreadsheet runs as a formula. Source: OWASP, CSV Injection. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
/** Cells that a spreadsheet turns into numbers, dates or truth values. */
const REINTERPRETED = [
  /^[.\d０-９][\d０-９\s.,:;/+\-%eE年月日時分秒]*$/,
  /^(?:true|false)$/i,
  /^(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[ .-]?\d/i,
  /^\d{1,2}[ .-]?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/i,
];

/**
 * Puts an apostrophe before a cell that a spreadsheet would run or change. {@link withoutGuard} removes it; a cell that
 * already begins with apostrophes gets one more, so that no cell is changed on the way out and in.
 */
export function withGuard(cell: string): string {
  return needsGuard(cell) ? `'${cell}` : cell;
}

/** Removes the apostrophe of {@link withGuard}. */
export function withoutGuard(cell: string): string {
  return cell.startsWith("'") && needsGuard(cell) ? cell.slice(1) : cell;
}

function needsGuard(cell: string): boolean {
  let start = 0;
  while (cell[start] === "'") start += 1;
  const rest = cell.slice(start);
  return FORMULA.test(rest) || (rest.length <= 64 && REINTERPRETED.some((pattern) => pattern.test(rest)));
}
