import { stringifyJsonExact } from '../../../contract/json/json-exact.ts';

/** Most bytes of the items of one page, as JSON; half of what the server reads of a report. */
export const PAGE_BYTES = 4 * 1024 * 1024;

/** The items of one page of a list. Texts can be long, so a page is bounded in bytes beside its `limit`. */
export class PageItems<T> {
  readonly items: T[] = [];
  #isFull = false;
  #bytes = 0;
  readonly #limit: number;
  readonly #maxBytes: number;

  /** @param limit most items */
  constructor(limit: number, maxBytes = PAGE_BYTES) {
    this.#limit = limit;
    this.#maxBytes = maxBytes;
  }

  /** Whether the page takes no more items. */
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

  /** Where the next page begins; `null` when this is the last one. */
  nextOffset(offset: number, total: number): number | null {
    const next = offset + this.items.length;
    return next < total ? next : null;
  }
}
