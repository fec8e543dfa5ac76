/** The widths of the columns of a long table; pure. */

/** The width of a column while nobody has changed it. */
export interface ColumnWidth {
  readonly id: string;
  /** Pixels. */
  readonly least: number;
  /** Its part of the room that is left; 0 for a column that does not grow. */
  readonly grow: number;
}

/** Widths that the reader has chosen, pixels, by column. */
export type ChosenWidths = Readonly<Record<string, number>>;

const NARROWEST = 48;
const WIDEST = 1200;

/** The tracks of all columns, for `grid-template-columns`. They do not depend on content, so every row has the same. */
export function tracksOf(columns: readonly ColumnWidth[], chosen: ChosenWidths): string {
  return columns
    .map(({ id, least, grow }) => {
      const width = chosen[id];
      if (width !== undefined) return `${width}px`;
      return grow === 0 ? `${least}px` : `minmax(${least}px, ${grow}fr)`;
    })
    .join(' ');
}

/** The width below which the table scrolls sideways, pixels. */
export function leastWidth(columns: readonly ColumnWidth[], chosen: ChosenWidths): number {
  return columns.reduce((sum, { id, least }) => sum + (chosen[id] ?? least), 0);
}

/** The widths after a column got another one. */
export function withWidth(chosen: ChosenWidths, id: string, width: number): ChosenWidths {
  return { ...chosen, [id]: Math.round(Math.min(WIDEST, Math.max(NARROWEST, width))) };
}
