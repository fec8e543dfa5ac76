import type { ComponentChildren, JSX } from 'preact';

/** One column of a table. */
export interface Column<R> {
  readonly head: string;
  readonly cell: (row: R) => ComponentChildren;
  readonly class?: string;
}

/** The content of a cell that has none. */
const NOTHING = '–';

interface TableProps<R> {
  /** For readers who cannot see the heading above it. */
  readonly caption: string;
  /** The first one names the row. */
  readonly columns: ReadonlyArray<Column<R>>;
  readonly rows: readonly R[];
  readonly keyOf: (row: R) => string;
}

/**
 * A table that becomes a list of cards on a narrow screen. The roles are explicit because that layout removes the
 * native ones in some browsers.
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

function cellOf<R>({ head, cell, class: name = '' }: Column<R>, row: R, index: number): JSX.Element {
  const value = cell(row);
  // Narrow screens leave out an empty cell, because its head would say nothing.
  const classes = value === NOTHING ? `${name} none` : name;
  // One box around any content, so that the cards of narrow screens have two columns.
  const content = <div>{value}</div>;
  return index === 0 ? (
    <th key={head} class={name} data-head={head} role="rowheader" scope="row">
      {content}
    </th>
  ) : (
    <td key={head} class={classes} data-head={head} role="cell">
      {content}
    </td>
  );
}
