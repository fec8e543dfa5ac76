import {
  Component,
  createRef,
  Fragment,
  type AriaAttributes,
  type ComponentChildren,
  type JSX,
} from 'preact';

/** Rows that are drawn above and below those in view, so that a small move shows no gap. */
const OVERSCAN = 4;
/** The height before the first measurement, pixels. */
const FIRST_VIEWPORT = 600;
/** A browser rounds the place of a scroll bar to pixels of the screen. */
const ROUNDING = 1;

let made = 0;

interface VirtualRowsProps {
  readonly role: 'grid' | 'listbox' | 'tree';
  readonly label: string;
  readonly class?: string;
  readonly count: number;
  /** Pixels; every row has the same. */
  readonly rowHeight: number;
  /** Text wraps in the rows. All of them become as high as the highest that is drawn; `rowHeight` is the least. */
  readonly wraps?: boolean;
  readonly active: number | null;
  readonly onActive: (index: number) => void;
  /** Gets keys that do not move. Returns whether it used the key. */
  readonly onKey?: (event: KeyboardEvent) => boolean;
  /** The rows that are drawn, both inclusive; called when they change. */
  readonly onRange?: ((first: number, last: number) => void) | undefined;
  readonly head?: ComponentChildren;
  readonly attributes?: AriaAttributes;
  /** Draws a row; its element must have this id. */
  readonly children: (index: number, id: string) => JSX.Element;
}

interface VirtualRowsState {
  /** How far the reader is in the content, pixels. */
  readonly top: number;
  readonly viewport: number;
  readonly headHeight: number;
  readonly needed: number;
}

/**
 * The part of a long list that is in view. It stays in one place while the space behind it scrolls, and shows the rows
 * that belong to the place, so that no gap is seen however fast one scrolls.
 */
export class VirtualRows extends Component<VirtualRowsProps, VirtualRowsState> {
  override state: VirtualRowsState = { top: 0, viewport: FIRST_VIEWPORT, headHeight: 0, needed: 0 };
  readonly #id = `virtual-${(made += 1)}`;
  readonly #box = createRef<HTMLDivElement>();
  readonly #rows = createRef<HTMLDivElement>();
  readonly #observer = new ResizeObserver(() => this.#measure());
  #place: Place = { top: 0, scrollTop: 0 };
  #range = '';
  #width = 0;

  override componentDidMount(): void {
    const box = this.#box.current;
    if (box !== null) this.#observer.observe(box);
    this.#measure();
    this.#tellRange();
  }

  override componentDidUpdate(before: VirtualRowsProps, state: VirtualRowsState): void {
    const { count, active, wraps } = this.props;
    const [height, heightBefore] = [heightOf(this.props, this.state), heightOf(before, state)];
    if (height !== heightBefore) {
      const extent = { content: before.count * heightBefore, viewport: state.viewport };
      const stays = count === before.count && isAtEnd(extent, this.#place.top);
      this.#go(stays ? Infinity : (this.#place.top / heightBefore) * height);
    } else if (count !== before.count || this.state.viewport !== state.viewport) this.#go(this.#place.top);
    if (active !== null && active !== before.active) this.#reveal(active);
    this.#fit(count !== before.count || wraps !== before.wraps);
    this.#tellRange();
  }

  override componentWillUnmount(): void {
    this.#observer.disconnect();
  }

  focus(): void {
    this.#box.current?.focus();
  }

  override render(): JSX.Element {
    const {
      role,
      label,
      class: name = '',
      count,
      wraps = false,
      active,
      head,
      attributes,
      children,
    } = this.props;
    const { viewport, headHeight } = this.state;
    const rowHeight = heightOf(this.props, this.state);
    const { first, last } = this.#window();
    const idOf = (index: number): string => `${this.#id}-${index}`;
    const isDrawn = active !== null && active >= first && active <= last;
    // A row that leaves gives its elements to one that comes, which is faster than to make new ones.
    const slots = Math.ceil(viewport / rowHeight) + 2 * OVERSCAN + 1;
    const rows = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
    return (
      <div
        role={role}
        aria-label={label}
        {...attributes}
        {...(isDrawn ? { 'aria-activedescendant': idOf(active) } : {})}
        class={`virtual ${name}${wraps ? ' wraps' : ''}`}
        style={{ '--row-height': `${rowHeight}px` }}
        tabIndex={0}
        ref={this.#box}
        onScroll={this.#onScroll}
        onScrollEnd={() => this.#go(this.#place.top)}
        onKeyDown={this.#onKeyDown}
      >
        {head}
        <div class="virtual-space" style={{ height: `${spaceOf(this.#extent())}px` }}>
          <div
            class="virtual-stay"
            style={{ top: `${headHeight}px`, height: `${Math.min(viewport, count * rowHeight)}px` }}
          >
            <div
              ref={this.#rows}
              style={{ transform: `translateY(${first * rowHeight - this.state.top}px)` }}
            >
              {rows.map((index) => (
                <Fragment key={index % slots}>{children(index, idOf(index))}</Fragment>
              ))}
            </div>
          </div>
        </div>
      </div>
    );
  }

  readonly #onScroll = (): void => {
    const box = this.#box.current;
    if (box === null || Math.abs(box.scrollTop - this.#place.scrollTop) < ROUNDING) return;
    const seen = box.scrollTop;
    this.#place = follow(this.#extent(), this.#place, seen);
    if (this.#place.scrollTop !== seen) box.scrollTop = this.#place.scrollTop;
    this.setState({ top: this.#place.top });
  };

  readonly #onKeyDown = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { active, count, onActive, onKey } = this.props;
    const rowHeight = heightOf(this.props, this.state);
    const page = Math.max(1, Math.floor(this.state.viewport / rowHeight) - 1);
    // Without a row of its own, a key begins with the rows in view.
    const start = active ?? Math.ceil(this.state.top / rowHeight) - 1;
    const next = rowAfterKey(event.key, { active: start, count, page });
    if (next !== null) onActive(next);
    else if (onKey?.(event) !== true) return;
    event.preventDefault();
    // The page may have the same key.
    event.stopPropagation();
  };

  #extent(): Extent {
    const content = this.props.count * heightOf(this.props, this.state);
    return { content, viewport: this.state.viewport };
  }

  #window(): { readonly first: number; readonly last: number } {
    const rowHeight = heightOf(this.props, this.state);
    return windowAt(this.state, { count: this.props.count, rowHeight, overscan: OVERSCAN });
  }

  #measure(): void {
    const box = this.#box.current;
    if (box === null) return;
    const head = box.firstElementChild;
    const headHeight = this.props.head === undefined || head === null ? 0 : head.clientHeight;
    const viewport = Math.max(this.props.rowHeight, box.clientHeight - headHeight);
    if (viewport !== this.state.viewport || headHeight !== this.state.headHeight) {
      this.setState({ viewport, headHeight });
    }
    // In another width, the same text wraps to another height.
    if (box.clientWidth === this.#width) return;
    this.#width = box.clientWidth;
    this.#fit(true);
  }

  /**
   * Makes the rows high enough for those that are drawn.
   *
   * @param afresh they may also become lower. While one scrolls they do not, because each change moves all of them
   */
  #fit(afresh: boolean): void {
    const [box, rows] = [this.#box.current, this.#rows.current];
    if (box === null || rows === null) return;
    let needed = 0;
    if (this.props.wraps === true) {
      const present = box.style.getPropertyValue('--row-height');
      box.style.setProperty('--row-height', `${this.props.rowHeight}px`);
      const heights = [...rows.children].map((row) => Math.ceil(row.getBoundingClientRect().height));
      box.style.setProperty('--row-height', present);
      needed = Math.max(afresh ? 0 : this.state.needed, ...heights);
    }
    if (needed !== this.state.needed) this.setState({ needed });
  }

  #go(top: number): void {
    const box = this.#box.current;
    if (box === null) return;
    this.#place = placeAt(this.#extent(), top);
    if (Math.abs(box.scrollTop - this.#place.scrollTop) >= ROUNDING) box.scrollTop = this.#place.scrollTop;
    if (this.#place.top !== this.state.top) this.setState({ top: this.#place.top });
  }

  #reveal(index: number): void {
    const top = topToShow({ ...this.state, top: this.#place.top }, index, heightOf(this.props, this.state));
    if (top !== this.#place.top) this.#go(top);
  }

  #tellRange(): void {
    const { first, last } = this.#window();
    if (last < first || this.#range === `${first}-${last}`) return;
    this.#range = `${first}-${last}`;
    this.props.onRange?.(first, last);
  }
}

/** The height of every row, pixels. */
function heightOf({ rowHeight }: VirtualRowsProps, { needed }: VirtualRowsState): number {
  return Math.max(rowHeight, needed);
}

/** The highest space to scroll through, pixels. */
export const MAX_SPACE = 8_000_000;

/** All sizes are in pixels. */
interface Extent {
  readonly content: number;
  readonly viewport: number;
}

export interface Place {
  readonly top: number;
  readonly scrollTop: number;
}

/** The height of the space that the browser scrolls through. */
export function spaceOf({ content }: Extent): number {
  return Math.min(content, MAX_SPACE);
}

/** The place of the scroll bar that belongs to a place in the content. */
export function placeAt(extent: Extent, wished: number): Place {
  const [reach, range] = reachOf(extent);
  const top = Math.min(Math.max(0, wished), reach);
  return { top, scrollTop: reach === range ? top : (top / reach) * range };
}

/**
 * Follows the scroll bar. A move of less than a viewport counts as one by wheel, touch or key.
 *
 * @returns the new place; its `scrollTop` is another one than `scrollTop` where the bar reached its end and the list did not
 */
export function follow(extent: Extent, before: Place, scrollTop: number): Place {
  const [reach, range] = reachOf(extent);
  const moved = scrollTop - before.scrollTop;
  if (reach === range) return { top: Math.min(scrollTop, reach), scrollTop };
  if (Math.abs(moved) >= extent.viewport) return { top: (scrollTop / range) * reach, scrollTop };
  const top = Math.min(Math.max(0, before.top + moved), reach);
  const isAtStart = scrollTop <= 0;
  if (!isAtStart && scrollTop < range - 1) return { top, scrollTop };
  // A place that the bar cannot tell from its end is the end.
  const rest = isAtStart ? top : reach - top;
  if (rest <= (2 * reach) / range) return placeAt(extent, isAtStart ? 0 : reach);
  return placeAt(extent, top);
}

/** Whether a reader has scrolled to the end, so that the last row must stay whole when all rows become higher. */
export function isAtEnd(extent: Extent, top: number): boolean {
  const [reach] = reachOf(extent);
  return reach > 0 && top >= reach - ROUNDING;
}

function reachOf(extent: Extent): readonly [reach: number, range: number] {
  return [Math.max(0, extent.content - extent.viewport), Math.max(0, spaceOf(extent) - extent.viewport)];
}

interface RowWindow {
  readonly first: number;
  /** Inclusive; -1 in an empty list. */
  readonly last: number;
}

/**
 * The rows that are drawn.
 *
 * @param overscan rows above and below the ones in view
 */
export function windowAt(
  { top, viewport }: { top: number; viewport: number },
  { count, rowHeight, overscan }: { count: number; rowHeight: number; overscan: number },
): RowWindow {
  const first = Math.floor(top / rowHeight) - overscan;
  const last = Math.ceil((top + viewport) / rowHeight) - 1 + overscan;
  return { first: Math.max(0, first), last: Math.min(count - 1, last) };
}

/** How far to go so that a row is in view; the present place if it is. */
export function topToShow(
  { top, viewport }: { top: number; viewport: number },
  index: number,
  rowHeight: number,
): number {
  const begin = index * rowHeight;
  if (begin < top) return begin;
  return Math.max(top, begin + rowHeight - viewport);
}

/** The row that a key goes to, `null` if the key does not move. */
export function rowAfterKey(
  key: string,
  { active, count, page }: { active: number; count: number; page: number },
): number | null {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + page,
    PageUp: active - page,
    Home: 0,
    End: count - 1,
  };
  const next = steps[key];
  return next === undefined || count === 0 ? null : Math.min(Math.max(0, next), count - 1);
}
