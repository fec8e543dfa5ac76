/** Values of cells that a spreadsheet could not compute. */
const ERROR_VALUE = /^#(?:NAME\?|REF!|VALUE!|DIV\/0!|N\/A|NUM!|NULL!|SPILL!|#+)$/;
/** A number that a spreadsheet has rounded to fewer digits. */
const SHORTENED_NUMBER = /^[+-]?\d(?:[.,]\d+)?E[+-]\d{2,3}$/;
const TRUTH_VALUE = /^(?:TRUE|FALSE)$/;
const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
/** The forms into which spreadsheets turn texts such as `1/2` and `March 4`. */
const DATE = new RegExp(
  `^(?:\\d{1,2}-${MONTH}(?:-\\d{2,4})?|${MONTH}-\\d{2,4}|\\d{1,2}/\\d{1,2}/\\d{2,4}|\\d{4}[-/]\\d{1,2}[-/]\\d{1,2}|\\d{1,2}月\\d{1,2}日)$`,
);
const NUMBER = /^[+-]?\d+(?:\.\d+)?$/;
/** Characters of the longest cell. Source: Excel specifications and limits. */
const LONGEST_CELL = 32_767;
/** Digits that a spreadsheet keeps of a number. */
const KEPT_DIGITS = 15;

/**
 * Says what a spreadsheet may have done to a target: error values, shortened numbers and texts, truth values, dates, and numbers of
 * the source in another form.
 *
 * @param target the cell as it is in the file: one with a guard shows nothing
 * @param source without its guard
 * @returns `null` when the cell shows nothing, or is the source
 */
export function spreadsheetRemark(target: string, source: string): string | null {
  if (target === source) return null;
  if (target.length === LONGEST_CELL)
    return 'the target fills the longest cell of a spreadsheet; its end may be missing';
  if (target.length > 64) return null;
  const quoted = JSON.stringify(target);
  if (ERROR_VALUE.test(target)) return `the target ${quoted} is an error value of a spreadsheet`;
  const kind = kindOf(target);
  if (kind !== null) return `the target ${quoted} is ${kind}; a spreadsheet may have made it of another text`;
  return isOtherForm(target, source)
    ? `the target ${quoted} is the number ${source} of the source in the form of a spreadsheet`
    : null;
}

/** Whether two numbers are the same to a spreadsheet, as `007` and `7`. */
function isOtherForm(target: string, source: string): boolean {
  if (!NUMBER.test(target) || !NUMBER.test(source)) return false;
  if (Number(target) === Number(source)) return true;
  return target.length > KEPT_DIGITS && target === source.slice(0, KEPT_DIGITS).padEnd(source.length, '0');
}

function kindOf(target: string): string | null {
  if (SHORTENED_NUMBER.test(target)) return 'a shortened number';
  if (TRUTH_VALUE.test(target)) return 'a truth value';
  return DATE.test(target) ? 'a date' : null;
}
