/** Classes of buffers: the smallest, doubled up to the largest. */
const SMALLEST_BYTES = 64 * 1024;
const LARGEST_BYTES = 1024 * 1024;

/**
 * Memory for reads that is used again as soon as the network has taken what was read. The garbage collector would find
 * such buffers too late: they are large and outside of its heap, and at a gigabyte a second it would do nothing else.
 */
export class ReadBuffers {
  readonly #mostSpareBytes: number;
  readonly #spare = new Map<number, ArrayBuffer[]>();
  /** Those that are out. Weak: one that never comes back is left to the garbage collector. */
  readonly #out = new WeakSet<ArrayBufferLike>();
  #spareBytes = 0;

  /** @param mostSpareBytes bytes kept while nobody uses them */
  constructor(mostSpareBytes: number) {
    this.#mostSpareBytes = mostSpareBytes;
  }

  /** Bytes kept for the next reads. */
  get spareBytes(): number {
    return this.#spareBytes;
  }

  /**
   * A buffer with undefined content. The caller owns it until it gives it back, or forever.
   *
   * @param length bytes, more than 0
   */
  take(length: number): Buffer {
    const size = classOf(length);
    // One of its own, never of the shared pool, which would stay in memory as long as the slowest client.
    if (size === null) return Buffer.allocUnsafeSlow(length);
    const kept = this.#spare.get(size)?.pop();
    if (kept !== undefined) this.#spareBytes -= size;
    const memory = kept ?? Buffer.allocUnsafeSlow(size).buffer;
    this.#out.add(memory);
    return Buffer.from(memory, 0, length);
  }

  /**
   * Takes memory back that nobody reads or writes any more. Bytes that did not come from {@link take}, such as shared
   * ones, are left alone, and so are those that came back before.
   */
  giveBack({ buffer }: Buffer): void {
    if (!this.#out.delete(buffer) || !(buffer instanceof ArrayBuffer)) return;
    const size = buffer.byteLength;
    if (this.#spareBytes + size > this.#mostSpareBytes) return;
    const spare = this.#spare.get(size);
    if (spare === undefined) this.#spare.set(size, [buffer]);
    else spare.push(buffer);
    this.#spareBytes += size;
  }
}

/** The size of the buffers that `length` bytes are read into; `null` for those that are not kept. */
function classOf(length: number): number | null {
  if (length > LARGEST_BYTES || length * 2 <= SMALLEST_BYTES) return null;
  let size = SMALLEST_BYTES;
  while (size < length) size *= 2;
  return size;
}
