// Two sets of this many keys remember what was asked for once.
const SEEN_LIMIT = 32_768;

/**
 * Keeps verified blocks in memory, those used last, within a byte budget. A block comes in when it is asked for a
 * second time, so that one pass over a large release does not drive out what is popular. The owner of a block is the
 * digest of its object, or whatever else a caller keeps bytes under.
 */
export class BlockCache {
  readonly #budget: number;
  readonly #blocks = new Map<string, Buffer>();
  #bytes = 0;
  #seen = new Set<string>();
  #seenBefore = new Set<string>();

  /** @param budget most bytes kept; 0 keeps nothing */
  constructor(budget: number) {
    this.#budget = budget;
  }

  /** Bytes kept now. */
  get bytes(): number {
    return this.#bytes;
  }

  get(owner: string, block: number): Buffer | undefined {
    const key = keyOf(owner, block);
    const bytes = this.#blocks.get(key);
    if (bytes !== undefined) {
      this.#blocks.delete(key);
      this.#blocks.set(key, bytes);
    }
    return bytes;
  }

  /**
   * Notes that a request wants a block; call it once for each request and block.
   *
   * @returns whether the block was wanted before, so that it should be put in
   */
  wants(owner: string, block: number): boolean {
    if (this.#budget === 0) return false;
    const key = keyOf(owner, block);
    if (this.#seen.has(key) || this.#seenBefore.has(key)) return true;
    this.#seen.add(key);
    if (this.#seen.size >= SEEN_LIMIT) {
      this.#seenBefore = this.#seen;
      this.#seen = new Set();
    }
    return false;
  }

  /** Puts a whole verified block in; the bytes must not change any more. */
  put(owner: string, block: number, bytes: Buffer): void {
    const key = keyOf(owner, block);
    if (bytes.length > this.#budget || this.#blocks.has(key)) return;
    this.#blocks.set(key, bytes);
    this.#bytes += bytes.length;
    for (const [oldest, evicted] of this.#blocks) {
      if (this.#bytes <= this.#budget) break;
      this.#blocks.delete(oldest);
      this.#bytes -= evicted.length;
    }
  }

  /** Lets go of one block. */
  drop(owner: string, block: number): void {
    const key = keyOf(owner, block);
    this.#bytes -= this.#blocks.get(key)?.length ?? 0;
    this.#blocks.delete(key);
  }

  /** Lets go of everything. */
  clear(): void {
    this.#blocks.clear();
    this.#bytes = 0;
  }
}

function keyOf(owner: string, block: number): string {
  return `${owner}/${block}`;
}
