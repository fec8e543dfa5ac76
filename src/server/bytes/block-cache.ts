import type { ReadBuffers } from './read-buffers.ts';

/** Two sets of this many keys remember what was asked for once. */
const SEEN_LIMIT = 32_768;

/** Small enough to be kept without an object of its own. */
const SEEN_MASK = 2 ** 30 - 1;

/** What keeping one block costs beside its bytes: key, map and buffer. Without it a cache of tiny objects has no bound. */
const OVERHEAD_BYTES = 512;

/** The share of the budget that blocks asked for again while they were kept may fill. */
const PROTECTED_SHARE = 0.8;

/**
 * Keeps verified blocks in memory within a byte budget, so that what is popular stays there whatever else is read. A
 * block comes in when it is asked for a second time, on probation; it is protected when it is asked for once more. What
 * has to go is what is on probation the longest: passes over a whole release, also several of them, push out each other
 * only. The owner of a block is the digest of its object, or whatever else a caller keeps bytes under.
 */
export class BlockCache {
  readonly #budget: number;
  readonly #buffers: ReadBuffers;
  readonly #probation = new Map<string, Buffer>();
  readonly #protected = new Map<string, Buffer>();
  #protectedCost = 0;
  #cost = 0;
  #seen = new Set<number>();
  #seenBefore = new Set<number>();

  /**
   * @param budget most bytes kept, what keeping them costs included; 0 keeps nothing
   * @param buffers where the memory of blocks goes that are let go of
   */
  constructor(budget: number, buffers: ReadBuffers) {
    this.#budget = budget;
    this.#buffers = buffers;
  }

  /** Bytes kept now. */
  get bytes(): number {
    return this.#cost - OVERHEAD_BYTES * (this.#probation.size + this.#protected.size);
  }

  /**
   * Finds bytes and notes their use.
   *
   * @param start first byte, counted in the block
   * @param end one past the last; default: the end of the block
   * @returns a view to give back to the buffers once nobody reads it any more, or `undefined`
   */
  get(owner: string, block: number, start = 0, end?: number): Buffer | undefined {
    const bytes = this.#find(keyOf(owner, block));
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
   * Notes that a request wants a block; call it once for each request and block.
   *
   * @param owner the digest of its object
   * @returns whether the block was wanted before, so that it should be put in
   */
  wants(owner: string, block: number): boolean {
    if (this.#budget === 0) return false;
    // Two blocks with one key: the second is kept a request early.
    const key = (Number.parseInt(owner.slice(0, 8), 16) ^ Math.imul(block, 0x9e37_79b1)) & SEEN_MASK;
    if (this.#seen.has(key) || this.#seenBefore.has(key)) return true;
    this.#seen.add(key);
    if (this.#seen.size >= SEEN_LIMIT) {
      this.#seenBefore = this.#seen;
      this.#seen = new Set();
    }
    return false;
  }

  /** Puts a whole verified block in; the bytes must not change any more. The caller still gives back its own view. */
  put(owner: string, block: number, bytes: Buffer): void {
    const key = keyOf(owner, block);
    if (costOf(bytes) > this.#budget || this.#probation.has(key) || this.#protected.has(key)) return;
    this.#probation.set(key, this.#buffers.share(bytes));
    this.#cost += costOf(bytes);
    for (const [oldest, evicted] of this.#probation) {
      if (this.#cost <= this.#budget) return;
      this.#probation.delete(oldest);
      this.#letGo(evicted);
    }
  }

  /** Lets go of one block. */
  drop(owner: string, block: number): void {
    const key = keyOf(owner, block);
    const kept = this.#protected.get(key);
    if (kept !== undefined) this.#protectedCost -= costOf(kept);
    const bytes = kept ?? this.#probation.get(key);
    if (bytes === undefined) return;
    this.#protected.delete(key);
    this.#probation.delete(key);
    this.#letGo(bytes);
  }

  /** Lets go of everything. */
  clear(): void {
    this.#probation.clear();
    this.#protected.clear();
    this.#protectedCost = 0;
    this.#cost = 0;
  }

  #letGo(bytes: Buffer): void {
    this.#cost -= costOf(bytes);
    this.#buffers.giveBack(bytes);
  }
}

function costOf(bytes: Buffer): number {
  return bytes.length + OVERHEAD_BYTES;
}

function keyOf(owner: string, block: number): string {
  return `${owner}/${block}`;
}
