import type { ReadBuffers } from './read-buffers.ts';

/** Maximum number of keys in each of the two sets that remember extents requested once. */
const SEEN_LIMIT = 32_768;

/** Keeps keys small enough for the engine to store them without a heap object. */
const SEEN_MASK = 2 ** 30 - 1;

/** Cost of a kept extent besides its bytes: key, map entries, buffer. Without it, tiny objects would be unbounded. */
const OVERHEAD_BYTES = 512;

/** The share of the budget for extents that were requested again while they were kept. */
const PROTECTED_SHARE = 0.8;

/**
 * Keeps verified blocks in memory within a byte budget, by extents, so that popular ones stay there whatever else is read. An
 * extent enters on its second request, on probation; one more request makes it protected. The extent that has been on
 * probation longest is evicted first, so passes over a whole release, even several of them, evict only each other's
 * extents. The owner of an extent is the digest of its object.
 */
export class BlockCache {
  readonly #budget: number;
  readonly #buffers: ReadBuffers;
  readonly #probation = new Map<string, Buffer>();
  readonly #protected = new Map<string, Buffer>();
  /** By owner, the number of its extents in memory. */
  readonly #extents = new Map<string, number>();
  #protectedCost = 0;
  #cost = 0;
  #seen = new Set<number>();
  #seenBefore = new Set<number>();

  /**
   * @param budget maximum bytes kept, including the overhead of keeping them; 0 keeps nothing
   * @param buffers receive the memory of evicted extents
   */
  constructor(budget: number, buffers: ReadBuffers) {
    this.#budget = budget;
    this.#buffers = buffers;
  }

  /** Bytes kept now, without the overhead. */
  get bytes(): number {
    return this.#cost - OVERHEAD_BYTES * (this.#probation.size + this.#protected.size);
  }

  /**
   * Finds bytes and records their use.
   *
   * @param start first byte, relative to the extent
   * @param end one past the last; default: the end of the extent
   * @returns a view to give back to the buffers after its last use, or `undefined`
   */
  get(owner: string, extent: number, start = 0, end?: number): Buffer | undefined {
    const bytes = this.#find(keyOf(owner, extent));
    return bytes === undefined ? undefined : this.#buffers.share(bytes, start, end);
  }

  #find(key: string): Buffer | undefined {
    const known = this.#protected.get(key);
    if (known !== undefined) {
      this.#protected.delete(key);
      this.#protected.set(key, known);
      return known;
    }
    const bytes = this.#probation.get(key);
    if (bytes === undefined) return undefined;
    this.#probation.delete(key);
    this.#protected.set(key, bytes);
    this.#protectedCost += costOf(bytes);
    for (const [oldest, demoted] of this.#protected) {
      if (this.#protectedCost <= this.#budget * PROTECTED_SHARE) break;
      this.#protected.delete(oldest);
      this.#protectedCost -= costOf(demoted);
      this.#probation.set(oldest, demoted);
    }
    return bytes;
  }

  /**
   * Records that a request wants an extent; call it once for each request and extent.
   *
   * @param owner the digest of its object
   * @returns whether an earlier request wanted the extent, so that the caller should put it in
   */
  wants(owner: string, extent: number): boolean {
    if (this.#budget === 0) return false;
    // If two extents share a key, the second one enters one request early.
    const key = (Number.parseInt(owner.slice(0, 8), 16) ^ Math.imul(extent, 0x9e37_79b1)) & SEEN_MASK;
    if (this.#seen.has(key) || this.#seenBefore.has(key)) return true;
    this.#seen.add(key);
    if (this.#seen.size >= SEEN_LIMIT) {
      this.#seenBefore = this.#seen;
      this.#seen = new Set();
    }
    return false;
  }

  /** Puts in a whole verified extent. The bytes must not change afterwards. The caller still gives back its own view. */
  put(owner: string, extent: number, bytes: Buffer): void {
    const key = keyOf(owner, extent);
    if (costOf(bytes) > this.#budget || this.#probation.has(key) || this.#protected.has(key)) return;
    this.#probation.set(key, this.#buffers.share(bytes));
    this.#extents.set(owner, (this.#extents.get(owner) ?? 0) + 1);
    this.#cost += costOf(bytes);
    for (const [oldest, evicted] of this.#probation) {
      if (this.#cost <= this.#budget) return;
      this.#probation.delete(oldest);
      this.#letGo(ownerOf(oldest), evicted);
    }
  }

  /** Removes the extents of one owner. */
  dropOwner(owner: string): void {
    for (let extent = 0; this.#extents.has(owner); extent += 1) this.#drop(owner, keyOf(owner, extent));
  }

  #drop(owner: string, key: string): void {
    const kept = this.#protected.get(key);
    if (kept !== undefined) this.#protectedCost -= costOf(kept);
    const bytes = kept ?? this.#probation.get(key);
    if (bytes === undefined) return;
    this.#protected.delete(key);
    this.#probation.delete(key);
    this.#letGo(owner, bytes);
  }

  /** Removes everything. */
  clear(): void {
    this.#probation.clear();
    this.#protected.clear();
    this.#extents.clear();
    this.#protectedCost = 0;
    this.#cost = 0;
  }

  #letGo(owner: string, bytes: Buffer): void {
    const left = (this.#extents.get(owner) ?? 0) - 1;
    if (left > 0) this.#extents.set(owner, left);
    else this.#extents.delete(owner);
    this.#cost -= costOf(bytes);
    this.#buffers.giveBack(bytes);
  }
}

function costOf(bytes: Buffer): number {
  return bytes.length + OVERHEAD_BYTES;
}

function keyOf(owner: string, extent: number): string {
  return `${owner}/${extent}`;
}

function ownerOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/'));
}
