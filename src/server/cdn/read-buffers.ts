import { SpareBuffers } from '../../platform/spare-buffers.ts';

/** Reads of fewer bytes get a buffer of their own: small ones are cheap, and rounded up they would hold too much. */
const FEWEST_BYTES = 32 * 1024;
const MOST_BYTES = 1024 * 1024;

/** Memory for reads that is used again as soon as the network has taken what was read. */
export class ReadBuffers {
  readonly #spare: SpareBuffers;
  /** Those that are out. Weak: one that never comes back is left to the garbage collector. */
  readonly #out = new WeakSet<ArrayBufferLike>();

  /** @param mostSpareBytes bytes kept while nobody uses them */
  constructor(mostSpareBytes: number) {
    this.#spare = new SpareBuffers(mostSpareBytes);
  }

  /** Bytes kept for the next reads. */
  get spareBytes(): number {
    return this.#spare.bytes;
  }

  /**
   * A buffer with undefined content. The caller owns it until it gives it back, or forever.
   *
   * @param length bytes, more than 0
   */
  take(length: number): Buffer {
    // Never of the shared pool of Node, which would stay in memory as long as the slowest client.
    if (length < FEWEST_BYTES || length > MOST_BYTES) return Buffer.allocUnsafeSlow(length);
    const memory = this.#spare.take(length);
    this.#out.add(memory);
    return Buffer.from(memory, 0, length);
  }

  /**
   * Takes memory back that nobody reads or writes any more. Bytes that did not come from {@link take}, such as shared
   * ones, are left alone, and so are those that came back before.
   */
  giveBack({ buffer }: Buffer): void {
    if (this.#out.delete(buffer) && buffer instanceof ArrayBuffer) this.#spare.put(buffer);
  }
}
