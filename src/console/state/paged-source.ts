/** Reads a long list page by page: the rows in view, and none that were scrolled past. */

import { signal } from '@preact/signals';
import { failureOf } from '../api/api-client.ts';
import { EMPTY_FEED, pauseAfterFailure, type FeedState, type Timers } from '../api/live-feed.ts';

const PAGE_SIZE = 200;
const MAX_PAGES = 20;
/** How long the reader must rest before pages are asked for, milliseconds. A dragged scroll bar passes hundreds. */
const REST_MS = 60;

export interface ListPage<T> {
  readonly total: number;
  readonly items: readonly T[];
  /**
   * Where the next page begins, `null` on the last one. A report that bounds the bytes of a page has fewer items in it
   * than requested. Other reports leave it out: then the page is as long as requested, or the last one.
   */
  readonly next_offset?: number | null;
  /** A list whose release or generation is another one has nothing in common with the previous one. */
  readonly release_id?: string | null;
  readonly generation?: number;
}

export interface PageRange {
  readonly offset: number;
  readonly limit: number;
}

interface PagedList<A> {
  readonly total: number;
  /** Grows when another list takes the place of this one, so that positions lose their meaning. */
  readonly edition: number;
  readonly answer: A;
}

interface PagedSourceParts<A> {
  /** @throws ApiFailure */
  readonly load: (range: PageRange, signal: AbortSignal) => Promise<A>;
  readonly pageSize?: number;
  readonly maxPages?: number;
  readonly timers?: Timers;
  /** Milliseconds. */
  readonly now?: () => number;
}

/** A long list of which the rows in view are loaded. It asks for nothing before {@link show}. */
export class PagedSource<A extends ListPage<unknown>> {
  /** A component that reads it is drawn again when rows arrive. */
  readonly state = signal<FeedState<PagedList<A>>>(EMPTY_FEED);
  readonly #load: PagedSourceParts<A>['load'];
  readonly #pageSize: number;
  readonly #timers: Timers;
  readonly #now: () => number;
  readonly #cache: PageCache<A['items'][number]>;
  readonly #running = new Map<number, AbortController>();
  #wanted: readonly number[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  /** Counts the refreshes: an answer that was asked for before the last one may be older than the change. */
  #round = 0;
  /** Names the list of the rows; `null` before the first answer. */
  #identity: string | null = null;

  constructor({
    load,
    pageSize = PAGE_SIZE,
    maxPages = MAX_PAGES,
    timers = globalThis,
    now = Date.now,
  }: PagedSourceParts<A>) {
    this.#load = load;
    this.#pageSize = pageSize;
    this.#timers = timers;
    this.#now = now;
    this.#cache = new PageCache({ pageSize, maxPages });
  }

  /** A row, `undefined` until its page has arrived. */
  row(index: number): A['items'][number] | undefined {
    return this.#cache.row(index);
  }

  /** Loads the pages of these rows and stops to load others. Both indexes are inclusive. */
  show(first: number, last: number): void {
    const margin = Math.floor(this.#pageSize / 4);
    const end = this.state.peek().value?.total ?? Infinity;
    const from = Math.floor(Math.max(0, first - margin) / this.#pageSize);
    const to = Math.floor(Math.max(0, Math.min(last + margin, end - 1)) / this.#pageSize);
    const wanted = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    // Rows that arrive draw the list again, and it shows the same pages; a retry must not wait forever because of it.
    if (wanted.join() === this.#wanted.join()) return;
    const isFirst = this.#wanted.length === 0;
    this.#wanted = wanted;
    this.#cache.touch(wanted);
    for (const [page, request] of this.#running) if (!wanted.includes(page)) this.#abort(page, request);
    if (isFirst) this.#ask();
    else this.#askIn(REST_MS);
  }

  refresh(): void {
    this.#round += 1;
    this.#cache.age();
    // An unanswered request may end: one that takes longer than the pause between two refreshes would never.
    this.#ask();
  }

  stop(): void {
    this.#timers.clearTimeout(this.#timer);
    for (const [page, request] of this.#running) this.#abort(page, request);
    this.#wanted = [];
  }

  #abort(page: number, request: AbortController): void {
    this.#running.delete(page);
    request.abort();
  }

  #askIn(pauseMs: number): void {
    this.#timers.clearTimeout(this.#timer);
    this.#timer = this.#timers.setTimeout(() => this.#ask(), pauseMs);
  }

  #ask(): void {
    this.#timers.clearTimeout(this.#timer);
    for (const page of this.#wanted) {
      if (this.#running.has(page) || this.#cache.isFresh(page)) continue;
      const request = new AbortController();
      this.#running.set(page, request);
      const round = this.#round;
      void this.#loadPage(page, request.signal).finally(() => {
        if (this.#running.get(page) !== request) return;
        this.#running.delete(page);
        if (round !== this.#round && this.#failures === 0) this.#ask();
      });
    }
  }

  async #loadPage(page: number, signal: AbortSignal): Promise<void> {
    const end = (page + 1) * this.#pageSize;
    const round = this.#round;
    const rows: A['items'][number][] = [];
    try {
      for (let offset: number | null = page * this.#pageSize; offset !== null;) {
        const answer: A = await this.#load({ offset, limit: end - offset }, signal);
        if (signal.aborted) return;
        if (!this.#accept(answer)) return;
        rows.push(...answer.items);
        const next: number | null = answer.items.length === 0 ? null : (answer.next_offset ?? null);
        offset = next === null || next >= end ? null : next;
        this.#cache.put(page, [...rows], offset === null && round === this.#round);
        this.#cache.touch(this.#wanted);
        this.#publish(answer);
      }
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
  }

  #accept({ release_id: release, generation, total }: A): boolean {
    const identity = JSON.stringify([release ?? null, generation ?? null]);
    const before = this.#identity;
    this.#identity = identity;
    if (before === null || before === identity) {
      this.#cache.cut(total);
      return true;
    }
    this.#cache.clear();
    for (const [page, request] of this.#running) this.#abort(page, request);
    const { value } = this.state.peek();
    if (value !== null) {
      this.state.value = { ...this.state.peek(), value: { ...value, total, edition: value.edition + 1 } };
    }
    this.#askIn(REST_MS);
    return false;
  }

  #publish(answer: A): void {
    this.#failures = 0;
    const edition = this.state.peek().value?.edition ?? 0;
    this.state.value = {
      value: { total: answer.total, edition, answer },
      loadedAt: this.#now(),
      failure: null,
      nextAt: null,
    };
  }

  #fail(error: unknown): void {
    const failure = failureOf(error);
    this.#failures += 1;
    const pause = pauseAfterFailure(this.#failures, failure.retryAfter);
    this.state.value = { ...this.state.peek(), failure, nextAt: this.#now() + pause };
    this.#askIn(pause);
  }
}

interface CachedPage<T> {
  readonly rows: readonly T[];
  readonly isFresh: boolean;
}

export class PageCache<T> {
  readonly #pageSize: number;
  readonly #maxPages: number;
  readonly #pages = new Map<number, CachedPage<T>>();

  constructor({ pageSize, maxPages }: { pageSize: number; maxPages: number }) {
    this.#pageSize = pageSize;
    this.#maxPages = maxPages;
  }

  get size(): number {
    return this.#pages.size;
  }

  /** A row, `undefined` while its page is not known. */
  row(index: number): T | undefined {
    const number = Math.floor(index / this.#pageSize);
    return this.#pages.get(number)?.rows[index - number * this.#pageSize];
  }

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

  touch(numbers: readonly number[]): void {
    for (const number of numbers) {
      const page = this.#pages.get(number);
      if (page === undefined) continue;
      this.#pages.delete(number);
      this.#pages.set(number, page);
    }
  }

  age(): void {
    for (const [number, page] of this.#pages) this.#pages.set(number, { ...page, isFresh: false });
  }

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
