/** Cells that a spreadsheet runs as a formula. Source: OWASP, CSV Injection. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const MONTH = '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)';
/** Cells that a spreadsheet turns into numbers, dates, times, truth or error values. Blanks around them and wide forms do not count. */
const REINTERPRETED = [
  /^\.?\d[\d\s.,:;/\u2044+\-%e年月日時分秒]*(?:[ap]m?)?$/i,
  /^[$¥€£\\]\s*\d/,
  /^\(\s*[$¥€£]?\d[\d.,]*\s*\)$/,
  /^#(?:N\/A|[A-Z0-9/]+[?!])$/i,
  /^(?:true|false)$/i,
  new RegExp(`^${MONTH}[a-z]*[ .-]?\\d`, 'i'),
  new RegExp(`^\\d{1,2}[ .-]?${MONTH}`, 'i'),
  // Dates of Japanese eras, and times of Japan and China.
  /^(?:明治|大正|昭和|平成|令和|[mtshr])\s*\d{1,2}[年.\-/]/i,
  /^(?:午前|午後|上午|下午)\s*\d/,
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
  if (FORMULA.test(rest)) return true;
  if (rest.length > 64) return false;
  const bare = rest.normalize('NFKC').trim();
  return REINTERPRETED.some((pattern) => pattern.test(bare));
}
