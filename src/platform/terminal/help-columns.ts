/** Width of a help text, in characters. */
export const HELP_WIDTH = 100;
const MARGIN = 2;
/** Widest left column; a longer text stands on a line of its own. */
const WIDEST_LEFT = 26;

/** Renders two columns of a help text, wrapped at 100 characters between words. */
export function helpColumns(rows: ReadonlyArray<readonly [string, string]>): string {
  const lengths = rows.map(([left]) => left.length).filter((length) => length <= WIDEST_LEFT);
  const indent = MARGIN + Math.max(0, ...lengths) + MARGIN;
  return rows
    .flatMap(([left, right]) => {
      const meaning = wrapText(right, HELP_WIDTH - indent);
      const usage = wrapText(left, HELP_WIDTH - MARGIN * 3).map(
        (line, at) => ' '.repeat(at === 0 ? MARGIN : MARGIN * 3) + line,
      );
      const [only = '', ...more] = usage;
      const isShort = more.length === 0 && left.length <= indent - MARGIN * 2;
      const [first = '', ...rest] = meaning;
      return isShort
        ? [only.padEnd(indent) + first, ...rest.map((line) => ' '.repeat(indent) + line)]
        : [...usage, ...meaning.map((line) => ' '.repeat(indent) + line)];
    })
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** A summary as a sentence: with a capital letter and a full stop. */
export function sentenceOf(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
}

/** Breaks a text between words. Brackets of a usage stay whole; a longer word has a line of its own. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.match(/\[[^\]]*\]|\S+/g) ?? []) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
}
