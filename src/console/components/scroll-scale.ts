/**
 * Maps the scroll bar of the browser to a list that is higher than an element may be; pure.
 *
 * Chromium draws no element higher than 33.5 million pixels, Firefox none higher than 17.8 million. So a longer list gets a
 * scroll bar of fewer pixels: a dragged scroll bar moves in proportion, and wheel, touch and keys still move pixel by
 * pixel.
 */

/** The highest space to scroll through, pixels. */
export const MAX_SPACE = 8_000_000;

/** All sizes are in pixels. */
export interface Extent {
  /** Of all rows together. */
  readonly content: number;
  /** Of the part that is seen. */
  readonly viewport: number;
}

/** Where the list is. */
export interface Place {
  /** How far the reader is in the content. */
  readonly top: number;
  /** How far the scroll bar is in its space. */
  readonly scrollTop: number;
}

/** The height of the space that the browser scrolls through. */
export function spaceOf({ content }: Pick<Extent, 'content'>): number {
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

/** How far the content and the scroll bar can move. */
function reachOf(extent: Extent): readonly [reach: number, range: number] {
  return [Math.max(0, extent.content - extent.viewport), Math.max(0, spaceOf(extent) - extent.viewport)];
}

/** The rows in view and next to it. */
export interface RowWindow {
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
  { top, viewport }: { readonly top: number; readonly viewport: number },
  {
    count,
    rowHeight,
    overscan,
  }: { readonly count: number; readonly rowHeight: number; readonly overscan: number },
): RowWindow {
  const first = Math.floor(top / rowHeight) - overscan;
  const last = Math.ceil((top + viewport) / rowHeight) - 1 + overscan;
  return { first: Math.max(0, first), last: Math.min(count - 1, last) };
}

/** How far to go so that a row is in view; the present place if it is. */
export function topToShow(
  { top, viewport }: { readonly top: number; readonly viewport: number },
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
  { active, count, page }: { readonly active: number; readonly count: number; readonly page: number },
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
