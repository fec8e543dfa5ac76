/** A sparse and bounded memory of the pages of a long list; pure. The page that was shown longest ago leaves first. */

export interface PageCacheOptions {
  /** Rows of a page. */
  readonly pageSize: number;
  readonly maxPages: number;
}

interface CachedPage<T> {
  readonly rows: readonly T[];
  /** Whether it was loaded since the last refresh, and to its end. */
  readonly isFresh: boolean;
}

/** Pages by their number; page 0 begins with row 0. */
export class PageCache<T> {
  readonly #pageSize: number;
  readonly #maxPages: number;
  /** The page that was shown longest ago is the first one. */
  readonly #pages = new Map<number, CachedPage<T>>();

  constructor({ pageSize, maxPages }: PageCacheOptions) {
    this.#pageSize = pageSize;
    this.#maxPages = maxPages;
  }

  /** Number of pages that are kept. */
  get size(): number {
    return this.#pages.size;
  }

  /** A row, `undefined` while its page is not known. */
  row(index: number): T | undefined {
    const number = Math.floor(index / this.#pageSize);
    return this.#pages.get(number)?.rows[index - number * this.#pageSize];
  }

  /** Whether a page need not be loaded. */
  isFresh(number: number): boolean {
    return this.#pages.get(number)?.isFresh === true;
  }

  /**
   * Keeps the rows of a page. Rows that an older answer has beyond them stay until the page is complete.
   *
   * @param isComplete whether these are all rows of the page
   */
  put(number: number, rows: readonly T[], isComplete: boolean): void {
    const before = isComplete ? [] : (this.#pages.get(number)?.rows.slice(rows.length) ?? []);
    this.#pages.delete(number);
    this.#pages.set(number, { rows: [...rows, ...before], isFresh: isComplete });
    this.#shrink();
  }

  /** Marks pages as shown now. */
  touch(numbers: readonly number[]): void {
    for (const number of numbers) {
      const page = this.#pages.get(number);
      if (page === undefined) continue;
      this.#pages.delete(number);
      this.#pages.set(number, page);
    }
  }

  /** Keeps all rows to be shown, until newer ones arrive. */
  age(): void {
    for (const [number, page] of this.#pages) this.#pages.set(number, { ...page, isFresh: false });
  }

  /** Forgets the rows from an index on, which the list no longer has. */
  cut(total: number): void {
    for (const [number, page] of this.#pages) {
      const kept = total - number * this.#pageSize;
      if (kept <= 0) this.#pages.delete(number);
      else if (kept < page.rows.length) {
        this.#pages.set(number, { ...page, rows: page.rows.slice(0, kept) });
      }
    }
  }

  clear(): void {
    this.#pages.clear();
  }

  #shrink(): void {
    for (const number of this.#pages.keys()) {
      if (this.#pages.size <= this.#maxPages) return;
      this.#pages.delete(number);
    }
  }
}
