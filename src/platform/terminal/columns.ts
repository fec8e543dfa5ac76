import { characterWidth, displayWidth } from '../../domain/text/checks/display-width.ts';

/** An attribute of a terminal, such as a colour, or one character. */
// oxlint-disable-next-line no-control-regex
const PARTS = /\u001b\[[0-9;]*m|./gsu;
const RESET = '\u001b[0m';

/**
 * Cuts a line of printable text to the width of a terminal, so that it does not wrap. A cut line ends with an ellipsis;
 * attributes take no column and are ended.
 *
 * @param columns of the terminal, at least 1
 */
export function cutLine(line: string, columns: number): string {
  let width = 0;
  let kept = '';
  for (const [part] of line.matchAll(PARTS)) {
    width += part.startsWith('\u001b') ? 0 : characterWidth(part);
    if (width > columns) return `${kept}…${kept.includes('\u001b') ? RESET : ''}`;
    if (width < columns) kept += part;
  }
  return line;
}

/** Fills a printable text up with spaces to a number of columns of a terminal; a wider text stays as it is. */
export function padColumns(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - displayWidth(text)));
}
