import type { ReportedIndex } from './reported-index.ts';
import type { UnitQuery } from './unit-filter.ts';
import { stringifyJsonExact } from '../../../../contract/json/json-exact.ts';

interface ReleasePage<T> {
  readonly release_id: string | null;
  readonly generation: number;
  readonly total: number;
  readonly offset: number;
  readonly limit: number;
  readonly next_offset: number | null;
  readonly items: T[];
}

/**
 * Makes a page of the reported release.
 *
 * @param index `null` before the first release: the page is empty
 * @param fill adds the items from the offset on to the page, and gives their total
 */
export function releasePage<T>(
  index: ReportedIndex | null,
  { offset, limit }: UnitQuery,
  fill: (index: ReportedIndex, page: PageItems<T>) => number,
): ReleasePage<T> {
  const page = new PageItems<T>(limit);
  const total = index === null ? 0 : fill(index, page);
  return {
    release_id: index?.releaseId ?? null,
    generation: index?.generation ?? 0,
    total,
    offset,
    limit,
    next_offset: page.nextOffset(offset, total),
    items: page.items,
  };
}

/** Most bytes of the items of one page, as JSON; half of what the server reads of a report. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** The items of one page of a list. Texts can be long, so a page is bounded in bytes beside its `limit`. */
export class PageItems<T> {
  readonly items: T[] = [];
  #isFull = false;
  #bytes = 0;
  readonly #limit: number;
  readonly #maxBytes: number;

  constructor(limit: number, maxBytes = PAGE_BYTES) {
    this.#limit = limit;
    this.#maxBytes = maxBytes;
  }

  get isFull(): boolean {
    return this.#isFull || this.items.length === this.#limit;
  }

  /** Adds the next item, unless the page is full. The first one always fits, so that every page leads on. */
  add(item: T): void {
    if (this.isFull) return;
    this.#bytes += Buffer.byteLength(stringifyJsonExact(item));
    this.#isFull = this.items.length > 0 && this.#bytes > this.#maxBytes;
    if (!this.#isFull) this.items.push(item);
  }

  nextOffset(offset: number, total: number): number | null {
    const next = offset + this.items.length;
    return next < total ? next : null;
  }
}
