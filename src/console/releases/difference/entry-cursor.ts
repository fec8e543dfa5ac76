/** Walks over the entries of a release, page by page, in the byte order of their destinations. */

import { compareDestinations } from '../../../domain/release/destination.ts';
import type { ManifestEntry } from '../../api/wire.ts';

const PAGE = 1000;

/** Reads a page of a release. @throws ApiFailure */
export type ReadEntries = (
  range: { readonly offset: number; readonly limit: number },
  signal: AbortSignal,
) => Promise<{
  readonly snapshot_id: string;
  readonly total: number;
  readonly items: readonly ManifestEntry[];
}>;

export class ReleaseMoved extends Error {
  constructor() {
    super('The release was built again while it was read.');
    this.name = 'ReleaseMoved';
  }
}

/** A place in the entries of a release. The next page is requested while one is read. */
export class EntryCursor {
  readonly #read: ReadEntries;
  readonly #signal: AbortSignal;
  readonly #end: number;
  #position: number;
  #items: readonly ManifestEntry[] = [];
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

/** An entry on both sides; `null` on the side that does not have it, never on both. */
export interface EntryPair {
  readonly left: ManifestEntry | null;
  readonly right: ManifestEntry | null;
}

export interface Place {
  readonly left: number;
  readonly right: number;
}

type Step = 'next' | 'stop' | { readonly skipTo: Place };

/**
 * Walks over two releases together, in the order of their destinations.
 *
 * @param visit called with each destination of either side and its place, before the next one
 * @param onPage called after each page that arrived
 * @throws ApiFailure, ReleaseMoved
 */
export async function mergeEntries(
  left: EntryCursor,
  right: EntryCursor,
  visit: (pair: EntryPair, place: Place) => Step,
  onPage: () => void = () => undefined,
): Promise<void> {
  for (;;) {
    if (left.isWaiting || right.isWaiting) {
      await Promise.all([left, right].map(async (side) => (side.isWaiting ? side.load() : null)));
      onPage();
    }
    const pair = pairOf(left.entry, right.entry);
    if (pair.left === null && pair.right === null) return;
    const step = visit(pair, { left: left.position, right: right.position });
    if (step === 'stop') return;
    if (step === 'next') {
      if (pair.left !== null) left.move();
      if (pair.right !== null) right.move();
    } else {
      left.move(step.skipTo.left);
      right.move(step.skipTo.right);
    }
  }
}

function pairOf(left: ManifestEntry | null, right: ManifestEntry | null): EntryPair {
  if (left === null || right === null) return { left, right };
  const order = compareDestinations(left.destination, right.destination);
  return { left: order <= 0 ? left : null, right: order >= 0 ? right : null };
}

/** Whether both sides have the same bytes. */
export function isSame({ left, right }: EntryPair): boolean {
  return left !== null && right !== null && left.blake3 === right.blake3;
}

/** The destination of a pair. */
export function destinationOf({ left, right }: EntryPair): string {
  return (left ?? right)?.destination ?? '';
}
