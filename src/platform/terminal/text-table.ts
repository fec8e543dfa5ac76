import { displayWidth } from '../../domain/text/checks/display-width.ts';
import { cutLine, padColumns } from './columns.ts';
import { PLAIN, type Painter } from './painter.ts';

/** Characters that a terminal would execute instead of showing: C0 and C1 controls, and the marks that change the direction of text. */
// oxlint-disable-next-line no-control-regex
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Makes text of the service safe to show on a terminal: what it would act upon becomes an escape such as `\x1b`. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, '0')}`;
  });
}

/** Makes a text printable and shortens it to a number of columns, so that it fits into a cell. */
export function textExcerpt(text: string, columns: number): string {
  return cutLine(printable(text), columns);
}

/** The same with a word in view, where the text has it: what is before the word is cut when both do not fit. */
export function excerptAround(text: string, word: string, columns: number): string {
  const line = printable(text);
  const shown = printable(word);
  const at = line.indexOf(shown);
  if (at <= 0 || displayWidth(line) <= columns) return cutLine(line, columns);
  // One column for the ellipsis on each side.
  let room = Math.floor(Math.max(0, columns - displayWidth(shown) - 2) / 2);
  const rest = displayWidth(line.slice(at)) + 1;
  if (rest + room < columns) room = columns - rest;
  let start = at;
  for (const character of Array.from(line.slice(0, at)).toReversed()) {
    room -= displayWidth(character);
    if (room < 0) break;
    start -= character.length;
  }
  return start === 0 ? cutLine(line, columns) : `…${cutLine(line.slice(start), columns - 1)}`;
}

/** Renders rows in columns as wide as their widest cell, the last one as it is. */
export function textTable(
  header: readonly string[],
  rows: ReadonlyArray<readonly string[]>,
  painter: Painter = PLAIN,
): string {
  const printed = rows.map((row) => row.map(printable));
  const lines = [header, ...printed];
  const widths = header.map((_title, column) =>
    Math.max(...lines.map((line) => displayWidth(line[column] ?? ''))),
  );
  const lineOf = (cells: readonly string[], paint: (title: string, text: string) => string): string => {
    const padded = cells.map((cell, column) => {
      const text = column === cells.length - 1 ? cell : padColumns(cell, widths[column] ?? 0);
      return paint(header[column] ?? '', text);
    });
    return `${padded.join('  ').trimEnd()}\n`;
  };
  const titles = lineOf(header, (_title, text) => painter.title(text));
  return titles + printed.map((row) => lineOf(row, (title, text) => painter.cell(title, text))).join('');
}

/** Renders `name: value` lines, the values aligned. @param painter marks states */
export function textFields(
  fields: ReadonlyArray<readonly [string, string]>,
  painter: Painter = PLAIN,
): string {
  const width = Math.max(...fields.map(([name]) => displayWidth(name)));
  return fields
    .map(([name, value]) => {
      const text = painter.cell(name, printable(value));
      return `${padColumns(`${name}:`, width + 1)} ${text}`.trimEnd() + '\n';
    })
    .join('');
}

/**
 * Renders a moment and how far it is from now, such as `2026-01-02 03:04:05Z (5m ago)`.
 *
 * @param seconds Unix seconds; `null` gives `-`
 */
export function textTime(seconds: number | bigint | null, nowSeconds: number): string {
  if (seconds === null) return '-';
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.getTime())) return String(seconds);
  const distance = Number(seconds) - nowSeconds;
  const length = textDuration(Math.abs(distance));
  return `${textClock(seconds)} (${distance > 0 ? `in ${length}` : `${length} ago`})`;
}

/** Renders a moment, such as `2026-01-02 03:04:05Z`. */
export function textClock(seconds: number | bigint): string {
  const date = new Date(Number(seconds) * 1000);
  return Number.isNaN(date.getTime())
    ? String(seconds)
    : date
        .toISOString()
        .replace('T', ' ')
        .replace(/\.\d+Z$/, 'Z');
}

const UNITS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'm'],
] as const;

/** Renders a length of time in its largest unit, such as `5m`. */
export function textDuration(seconds: number): string {
  const [size, unit] = UNITS.find(([size]) => seconds >= size) ?? [1, 's'];
  return `${Math.floor(seconds / size)}${unit}`;
}
