import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import { COLOURS, PLAIN, type Painter } from '../../../platform/terminal/painter.ts';
import { displayWidth } from '../../../domain/text/checks/display-width.ts';
import { printable, textExcerpt, textTable } from '../../../platform/terminal/text-table.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';

/** The forms in which a command prints its answer. */
export const OUTPUT_FORMATS = ['table', 'wide', 'name', 'json', 'yaml'] as const;

/** One of {@link OUTPUT_FORMATS}. */
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/**
 * Reads the value of `--output`.
 *
 * @param text `undefined` for none: a table
 * @throws CtlFailure
 */
export function parseOutputFormat(text: string | undefined): OutputFormat {
  const format = OUTPUT_FORMATS.find((each) => each === (text ?? 'table'));
  if (format !== undefined) return format;
  const names = `${OUTPUT_FORMATS.slice(0, -1).join(', ')} or ${OUTPUT_FORMATS.at(-1)}`;
  throw new CtlFailure(CTL_EXITS.usage, `--output ${text ?? ''}: must be ${names}`);
}

/** Whether a format is for programs, which get everything that the service sent. */
export function isDataFormat(format: OutputFormat): format is 'json' | 'yaml' {
  return format === 'json' || format === 'yaml';
}

/** How a text for people is rendered. */
export interface View {
  /** Unix seconds. */
  readonly now: number;
  /** Whether a table has its further columns. */
  readonly wide: boolean;
  /** Of the terminal; absent elsewhere, where a table has whole cells. */
  readonly columns?: number | undefined;
  readonly painter: Painter;
}

/** A column of a table. */
export interface Column<T> {
  readonly title: string;
  readonly cell: (item: T) => string;
  readonly wide?: boolean;
}

/** The view of a command. */
export function viewOf({
  clock,
  output,
  painter,
  stdout,
}: {
  readonly clock: Clock;
  readonly output: OutputFormat;
  readonly painter: Painter;
  readonly stdout: { readonly isTTY?: boolean; readonly columns?: number };
}): View {
  const columns = stdout.isTTY === true ? stdout.columns : undefined;
  return { now: unixSeconds(clock), wide: output === 'wide', columns, painter };
}

/** Renders items as a table, one a line. */
export function itemTable<T>(
  items: readonly T[],
  columns: ReadonlyArray<Column<T>>,
  { wide, columns: width, painter }: View,
): string {
  const shown = columns.filter((column) => wide || column.wide !== true);
  const titles = shown.map(({ title }) => title);
  const rows = items.map((item) => shown.map(({ cell }) => cell(item)));
  return textTable(titles, wide && width !== undefined ? fitted(titles, rows, width) : rows, painter);
}

/** The fewest columns that a cell of a wide table keeps. */
const LEAST_COLUMNS = 12;

/** Shortens the widest cells of a wide table until it fits. The first column is whole: other commands take its ids. */
function fitted(
  titles: readonly string[],
  rows: ReadonlyArray<readonly string[]>,
  columns: number,
): ReadonlyArray<readonly string[]> {
  const widths = titles.map((title, column) =>
    Math.max(
      ...[title, ...rows.map((row) => row[column] ?? '')].map((cell) => displayWidth(printable(cell))),
    ),
  );
  let over = widths.reduce((sum, width) => sum + width + 2, -2) - columns;
  while (over > 0) {
    const [widest = 0] = widths.slice(1).toSorted((left, right) => right - left);
    if (widest <= LEAST_COLUMNS) break;
    widths[widths.lastIndexOf(widest)] = widest - 1;
    over -= 1;
  }
  return rows.map((row) => row.map((cell, column) => textExcerpt(cell, widths[column] ?? 0)));
}

/**
 * Chooses colours or none.
 *
 * @param when the value of `--color`: `auto` (the default), `always` or `never`
 * @param isTerminal whether standard output is a terminal
 * @throws CtlFailure
 *
 * Source: no-color.org: a non-empty NO_COLOR switches colours off unless an option demands them.
 */
export function choosePainter(
  when: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): Painter {
  if (when === 'always') return COLOURS;
  if (when === 'never') return PLAIN;
  if (when !== undefined && when !== 'auto') {
    throw new CtlFailure(CTL_EXITS.usage, `--color ${when}: must be auto, always or never`);
  }
  const isRefused = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
  return isTerminal && !isRefused ? COLOURS : PLAIN;
}
