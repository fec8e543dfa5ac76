/** Walks over the entries of a release, page by page, in the byte order of their destinations. */

import type { DistributionPage, ManifestEntry } from '../../api/wire.ts';

/** Entries of one request. */
const PAGE = 1000;

/** Reads a page of a release. @throws ApiFailure */
export type ReadEntries = (
  range: { readonly offset: number; readonly limit: number },
  signal: AbortSignal,
) => Promise<Pick<DistributionPage, 'snapshot_id' | 'total' | 'items'>>;

/** The files of a release changed between two pages of it. */
export class ReleaseMoved extends Error {
  constructor() {
    super('The release was built again while it was read.');
    this.name = 'ReleaseMoved';
  }
}

/** A place in the entries of a release. The next page is on its way while one is read. */
export class EntryCursor {
  readonly #read: ReadEntries;
  readonly #signal: AbortSignal;
  readonly #end: number;
  #position: number;
  #items: readonly ManifestEntry[] = [];
  /** Position of the first of the items. */
  #begin = 0;
  #total: number | null = null;
  #snapshot: string | null = null;
  #next: { readonly offset: number; readonly page: ReturnType<ReadEntries> } | null = null;

  /** @param range positions; `to` is not included */
  constructor(
    read: ReadEntries,
    signal: AbortSignal,
    { from = 0, to = Infinity }: { readonly from?: number; readonly to?: number } = {},
  ) {
    this.#read = read;
    this.#signal = signal;
    this.#position = from;
    this.#end = to;
  }

  get position(): number {
    return this.#position;
  }

  /** Entries of the whole release; `null` before the first page. */
  get total(): number | null {
    return this.#total;
  }

  /** Whether {@link load} must be called before {@link entry}. */
  get isWaiting(): boolean {
    const isEnded = this.#position >= Math.min(this.#end, this.#total ?? Infinity);
    return !isEnded && this.#items[this.#position - this.#begin] === undefined;
  }

  /** The entry at this place, `null` at the end. */
  get entry(): ManifestEntry | null {
    return this.#position >= this.#end ? null : (this.#items[this.#position - this.#begin] ?? null);
  }

  /** Goes to another place; without one, to the next entry. */
  move(position = this.#position + 1): void {
    this.#position = position;
  }

  /** Loads the page of this place. @throws ApiFailure, ReleaseMoved */
  async load(): Promise<void> {
    const offset = this.#position;
    const awaited = this.#next?.offset === offset ? this.#next.page : this.#request(offset);
    this.#next = null;
    const { snapshot_id: snapshot, total, items } = await awaited;
    if (this.#snapshot !== null && snapshot !== this.#snapshot) throw new ReleaseMoved();
    this.#snapshot = snapshot;
    // An empty page before the end cannot be: the release would have got smaller.
    if (items.length === 0 && offset < total) throw new ReleaseMoved();
    this.#total = total;
    this.#items = items;
    this.#begin = offset;
    const after = offset + items.length;
    if (after < Math.min(total, this.#end)) {
      const page = this.#request(after);
      // Its failure is thrown where it is awaited; a place that is never reached does not need it.
      page.catch(() => undefined);
      this.#next = { offset: after, page };
    }
  }

  #request(offset: number): ReturnType<ReadEntries> {
    return this.#read({ offset, limit: Math.min(PAGE, this.#end - offset) }, this.#signal);
  }
}
