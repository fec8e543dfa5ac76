import type { ComponentChildren, JSX } from 'preact';

export interface Column<R> {
  readonly head: string;
  readonly cell: (row: R) => ComponentChildren;
  readonly class?: string;
  /**
   * Its place on a narrow screen, whose rows have two lines: in the first line at the left or at the right, in the second one,
   * or nowhere. By default the first column is the title and the others are details.
   */
  readonly narrow?: 'title' | 'aside' | 'detail' | 'none';
}

export const NOTHING = '–';

interface TableProps<R> {
  /** For readers who cannot see the heading above it. */
  readonly caption: string;
  readonly columns: ReadonlyArray<Column<R>>;
  readonly rows: readonly R[];
  readonly keyOf: (row: R) => string;
}

/**
 * A table whose rows have two lines on a narrow screen. The roles are explicit because that layout removes the native
 * ones in some browsers.
 */
export function Table<R>({ caption, columns, rows, keyOf }: TableProps<R>): JSX.Element {
  return (
    <table role="table">
      <caption class="unseen">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ head, class: name = '' }) => (
            <th role="columnheader" scope="col" key={head} class={name}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr role="row" key={keyOf(row)}>
            {columns.map((column, index) => cellOf(column, row, index))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function cellOf<R>(column: Column<R>, row: R, index: number) {
  const { head, cell, class: name = '', narrow = index === 0 ? 'title' : 'detail' } = column;
  const value = cell(row);
  // Narrow screens leave out an empty cell.
  const classes = `${name} ${value === NOTHING ? 'none' : narrow}`;
  return index === 0 ? (
    <th key={head} class={classes} role="rowheader" scope="row">
      {value}
    </th>
  ) : (
    <td key={head} class={classes} role="cell">
      {value === NOTHING ? <span class="muted">{NOTHING}</span> : value}
    </td>
  );
}
