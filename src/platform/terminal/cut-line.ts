import { characterWidth } from '../../domain/text/checks/display-width.ts';

/** An attribute of a terminal, such as a colour, or one character. */
// oxlint-disable-next-line no-control-regex
const PARTS = /\u001b\[[0-9;]*m|./gsu;
/** Ends all attributes. */
const RESET = '\u001b[0m';

/**
 * Cuts a line of printable text to the width of a terminal, so that it does not wrap. A cut line ends with an ellipsis;
 * attributes take no column and are ended.
 *
 * @param columns of the terminal, at least 1
 */
export function cutLine(line: string, columns: number): string {
  const parts = [...line.matchAll(PARTS)].map(([part]) => ({
    part,
    width: part.startsWith('\u001b') ? 0 : characterWidth(part),
  }));
  if (parts.reduce((sum, { width }) => sum + width, 0) <= columns) return line;
  let left = columns - 1;
  let kept = '';
  for (const { part, width } of parts) {
    if (width > left) break;
    kept += part;
    left -= width;
  }
  return `${kept}…${kept.includes('\u001b') ? RESET : ''}`;
}
