import { Component, type JSX } from 'preact';
import { isNarrow } from './narrow.ts';
import { NOTHING, type Column } from './table.tsx';
import { Skeleton } from './text.tsx';
import { VirtualRows } from './virtual-rows.tsx';

/** Heights of a row, pixels. */
const ROW_HEIGHT = 36;
const NARROW_ROW_HEIGHT = 56;
const CHECK_COLUMN: ColumnWidth = { id: 'check', least: 36 };

export interface VirtualColumn<R> extends Column<R>, ColumnWidth {
  readonly isSortable?: boolean;
}

export interface SortOrder {
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
  readonly onOpen?: (row: R) => void;
  readonly selected?: ReadonlySet<string>;
  readonly onSelect?: (row: R) => void;
  readonly onRange?: (first: number, last: number) => void;
  readonly sort?: SortOrder;
  readonly onSort?: (column: string) => void;
}

interface VirtualTableState {
  readonly active: number | null;
  readonly chosen: ChosenWidths;
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
                  onFocus={(event) => focusTable(event.currentTarget)}
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

/**
 * The keys of the table select a row; the element of a box belongs to another row as soon as one scrolls. Between the press and
 * the release of a tap nothing may move, otherwise the tap opens the row instead of reaching the box.
 */
function focusTable(box: HTMLElement): void {
  box.closest<HTMLElement>('.virtual')?.focus({ preventScroll: true });
}

function cellOf<R>(column: VirtualColumn<R>, row: R) {
  const { id, cell, narrow = 'detail', class: name = '' } = column;
  const value = cell(row);
  return (
    <div role="gridcell" key={id} class={`${value === NOTHING ? 'none' : narrow} ${name}`}>
      {value}
    </div>
  );
}

/** How far a key moves the edge, pixels. */
const STEP = 16;

function ColumnEdge({
  name,
  width,
  isReached,
  onWidth,
  onFocus,
}: {
  readonly name: string;
  /** Pixels. */
  readonly width: number;
  /** Only one edge of a table takes part in the order of the Tab key; the arrow keys reach the others. */
  readonly isReached: boolean;
  readonly onWidth: (width: number) => void;
  readonly onFocus: () => void;
}) {
  const widthOf = (edge: HTMLElement): number => edge.parentElement?.offsetWidth ?? 0;
  return (
    <span
      role="separator"
      class="column-edge"
      aria-orientation="vertical"
      aria-label={`Width of ${name}`}
      aria-valuenow={width}
      aria-valuetext={`${width} pixels`}
      title="Drag it, or press the left and right keys, to change the width; up and down go to another column"
      tabIndex={isReached ? 0 : -1}
      onFocus={onFocus}
      onPointerDown={(event) => {
        const edge = event.currentTarget;
        const [start, before] = [event.clientX, widthOf(edge)];
        const onDrag = ({ clientX }: PointerEvent): void => onWidth(before + clientX - start);
        event.preventDefault();
        edge.setPointerCapture(event.pointerId);
        edge.addEventListener('pointermove', onDrag);
        edge.addEventListener('lostpointercapture', () => edge.removeEventListener('pointermove', onDrag), {
          once: true,
        });
      }}
      onKeyDown={(event) => {
        const edge = event.currentTarget;
        if (event.key === 'ArrowLeft') onWidth(widthOf(edge) - STEP);
        else if (event.key === 'ArrowRight') onWidth(widthOf(edge) + STEP);
        else if (event.key === 'ArrowUp') edgeBeside(edge, -1)?.focus();
        else if (event.key === 'ArrowDown') edgeBeside(edge, 1)?.focus();
        else return;
        event.preventDefault();
        // The rows have the same keys.
        event.stopPropagation();
      }}
    />
  );
}

function edgeBeside(edge: HTMLElement, step: 1 | -1): HTMLElement | undefined {
  const edges = [...(edge.closest('[role="row"]')?.querySelectorAll<HTMLElement>('.column-edge') ?? [])];
  return edges[edges.indexOf(edge) + step];
}

interface ColumnWidth {
  readonly id: string;
  /** Pixels. */
  readonly least: number;
  /** Its part of the room that is left; 0 for a column that does not grow. */
  readonly grow?: number;
}

/** Widths that the reader has chosen, pixels, by column. */
type ChosenWidths = Readonly<Record<string, number>>;

const NARROWEST = 48;
const WIDEST = 1200;

/** The tracks of all columns, for `grid-template-columns`. They do not depend on content, so every row has the same. */
export function tracksOf(columns: readonly ColumnWidth[], chosen: ChosenWidths): string {
  return columns
    .map(({ id, least, grow = 0 }) => {
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
