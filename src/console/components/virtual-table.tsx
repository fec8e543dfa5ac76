import { Component, type ComponentChildren, type JSX } from 'preact';
import { ColumnEdge } from './column-edge.tsx';
import { isNarrow } from './narrow.ts';
import { leastWidth, tracksOf, withWidth, type ChosenWidths, type ColumnWidth } from './virtual-columns.ts';
import { NOTHING } from './table.tsx';
import { Skeleton } from './text.tsx';
import { VirtualRows } from './virtual-rows.tsx';

/** Heights of a row, pixels. */
const ROW_HEIGHT = 36;
const NARROW_ROW_HEIGHT = 56;
const CHECK_COLUMN: ColumnWidth = { id: 'check', least: 36, grow: 0 };

/** One column of a long table. */
export interface VirtualColumn<R> extends ColumnWidth {
  readonly head: string;
  readonly cell: (row: R) => ComponentChildren;
  /** `number` aligns it at the right. */
  readonly class?: 'number';
  /** Its place on a narrow screen: in the first line at the left or at the right, in the second one, or nowhere. */
  readonly narrow: 'title' | 'aside' | 'detail' | 'none';
  readonly isSortable?: boolean;
}

/** The order of the rows. */
export interface SortOrder {
  /** Id of the column. */
  readonly by: string;
  readonly isDescending: boolean;
}

interface VirtualTableProps<R> {
  readonly label: string;
  readonly columns: ReadonlyArray<VirtualColumn<R>>;
  readonly count: number;
  /** A row, `undefined` until it has arrived. */
  readonly row: (index: number) => R | undefined;
  readonly keyOf: (row: R) => string;
  /** Enter, or a click beside the controls of the row. */
  readonly onOpen?: (row: R) => void;
  /** Keys of the selected rows; with it, every row has a box to select it, and the space bar does so, too. */
  readonly selected?: ReadonlySet<string>;
  readonly onSelect?: (row: R) => void;
  readonly onRange?: (first: number, last: number) => void;
  readonly sort?: SortOrder;
  readonly onSort?: (column: string) => void;
}

interface VirtualTableState {
  readonly active: number | null;
  readonly chosen: ChosenWidths;
  /** The column whose edge the Tab key reaches. */
  readonly edge: number;
}

/** A table of any length. Below 720 pixels every row has two lines, and more where its text needs them. */
export class VirtualTable<R> extends Component<VirtualTableProps<R>, VirtualTableState> {
  override state: VirtualTableState = { active: null, chosen: {}, edge: 0 };

  override render(): JSX.Element {
    const { label, columns, count, selected, onRange } = this.props;
    const { active, chosen } = this.state;
    const isSmall = isNarrow();
    const widths = selected === undefined ? columns : [CHECK_COLUMN, ...columns];
    const rowStyle = isSmall
      ? {}
      : { gridTemplateColumns: tracksOf(widths, chosen), minWidth: `${leastWidth(widths, chosen)}px` };
    return (
      <VirtualRows
        role="grid"
        label={label}
        class={`virtual-table${isSmall ? ' narrow' : ''}`}
        count={count}
        rowHeight={isSmall ? NARROW_ROW_HEIGHT : ROW_HEIGHT}
        wraps={isSmall}
        active={active === null ? null : Math.min(active, count - 1)}
        onActive={(index) => this.setState({ active: index })}
        onKey={this.#onKey}
        onRange={onRange}
        head={this.#head(isSmall, rowStyle)}
        attributes={{
          'aria-rowcount': count + 1,
          'aria-colcount': widths.length,
          ...(selected === undefined ? {} : { 'aria-multiselectable': true }),
        }}
      >
        {(index, id) => this.#row(index, id, rowStyle)}
      </VirtualRows>
    );
  }

  readonly #onKey = (event: KeyboardEvent): boolean => {
    const { row, onOpen, onSelect } = this.props;
    const { active } = this.state;
    // A control within a row has its own keys.
    if (active === null || event.target !== event.currentTarget) return false;
    const act = event.key === 'Enter' ? onOpen : event.key === ' ' ? onSelect : undefined;
    const known = row(active);
    if (act === undefined || known === undefined) return false;
    act(known);
    return true;
  };

  #head(isSmall: boolean, style: Readonly<Record<string, string>>): JSX.Element {
    const { columns, selected } = this.props;
    return (
      <div role="rowgroup" class={isSmall ? 'unseen' : 'virtual-head'} style={style}>
        <div role="row" aria-rowindex={1}>
          {selected === undefined ? null : (
            <div role="columnheader">
              <span class="unseen">Selected</span>
            </div>
          )}
          {columns.map((column, index) => this.#headCell(column, index, isSmall))}
        </div>
      </div>
    );
  }

  #headCell(column: VirtualColumn<R>, index: number, isSmall: boolean): JSX.Element {
    const { id, head, least, isSortable, class: name = '' } = column;
    const { sort, onSort } = this.props;
    const isSorted = sort?.by === id;
    const direction = sort?.isDescending === true ? 'descending' : 'ascending';
    return (
      <div role="columnheader" key={id} class={name} {...(isSorted ? { 'aria-sort': direction } : {})}>
        {isSortable === true && onSort !== undefined && !isSmall ? (
          <button type="button" class="plain" onClick={() => onSort(id)}>
            {head}
            <span aria-hidden="true">{isSorted ? (direction === 'descending' ? ' ↓' : ' ↑') : ''}</span>
          </button>
        ) : (
          <span>{head}</span>
        )}
        {isSmall ? null : (
          <ColumnEdge
            name={head}
            width={this.state.chosen[id] ?? least}
            isReached={index === this.state.edge}
            onWidth={(width) => this.setState({ chosen: withWidth(this.state.chosen, id, width) })}
            onFocus={() => this.setState({ edge: index })}
          />
        )}
      </div>
    );
  }

  #row(index: number, id: string, style: Readonly<Record<string, string>>): JSX.Element {
    const { row, keyOf, columns, selected, onSelect, onOpen } = this.props;
    const known = row(index);
    const isSelected = known !== undefined && selected?.has(keyOf(known)) === true;
    const names = ['virtual-row'];
    if (index === this.state.active) names.push('active');
    if (onOpen !== undefined) names.push('opens');
    return (
      <div
        role="row"
        id={id}
        class={names.join(' ')}
        style={style}
        aria-rowindex={index + 2}
        {...(selected === undefined ? {} : { 'aria-selected': isSelected })}
        onClick={(event) => this.#onClick(event, index, known)}
      >
        {known === undefined ? (
          <div
            role="gridcell"
            class="waiting"
            aria-colspan={columns.length + (selected === undefined ? 0 : 1)}
          >
            <Skeleton />
          </div>
        ) : (
          <>
            {selected === undefined ? null : (
              <div role="gridcell" class="check">
                <input
                  type="checkbox"
                  tabIndex={-1}
                  aria-label={`Select ${keyOf(known)}`}
                  checked={isSelected}
                  // The keys of the table select it; its element belongs to another row as soon as one scrolls.
                  onFocus={(event) => event.currentTarget.closest<HTMLElement>('.virtual')?.focus()}
                  onChange={() => onSelect?.(known)}
                />
              </div>
            )}
            {columns.map((column) => cellOf(column, known))}
          </>
        )}
      </div>
    );
  }

  #onClick(event: MouseEvent, index: number, row: R | undefined): void {
    this.setState({ active: index });
    const isControl =
      event.target instanceof Element && event.target.closest('a, button, input, label') !== null;
    // Somebody who marks text of a row does not open it.
    const isMarking = globalThis.getSelection()?.type === 'Range';
    if (row !== undefined && !isControl && !isMarking) this.props.onOpen?.(row);
  }
}

function cellOf<R>(column: VirtualColumn<R>, row: R): JSX.Element {
  const { id, cell, narrow, class: name = '' } = column;
  const value = cell(row);
  return (
    <div role="gridcell" key={id} class={`${value === NOTHING ? 'none' : narrow} ${name}`}>
      {value}
    </div>
  );
}
