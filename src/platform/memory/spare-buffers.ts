const SMALLEST_BYTES = 64 * 1024;
const LARGEST_BYTES = 1024 * 1024;

/**
 * Memory for file contents that is used again. Left to the garbage collector, gigabytes of such buffers keep it at work
 * all the time: they are small objects with large memory outside of its heap.
 */
export class SpareBuffers {
  readonly #mostBytes: number;
  /** Those of the size that was taken last come last. */
  readonly #bySize = new Map<number, ArrayBuffer[]>();
  #bytes = 0;

  /** @param mostBytes kept while nobody uses them */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * A buffer with undefined content. The caller owns it until it puts it back, or forever.
   *
   * @param length bytes, 0 to 1 MiB
   * @returns one of at least that length, not much longer unless that is short
   */
  take(length: number): ArrayBuffer {
    let size = SMALLEST_BYTES;
    while (size < length) size *= 2;
    const kept = this.#bySize.get(size) ?? [];
    this.#bySize.delete(size);
    this.#bySize.set(size, kept);
    const buffer = kept.pop();
    // Unlike `new ArrayBuffer` this does not fill it with zeros.
    if (buffer === undefined) return Buffer.allocUnsafeSlow(size).buffer;
    this.#bytes -= size;
    return buffer;
  }

  /**
   * Returns a buffer that nobody reads or writes anymore. It replaces others whose size has not been asked
   * for as lately; one of no size that is ever asked for is let go.
   */
  put(buffer: ArrayBuffer): void {
    const size = buffer.byteLength;
    if (!isSpareSize(size) || size > this.#mostBytes) return;
    this.#makeRoom(size);
    if (this.#bytes + size > this.#mostBytes) return;
    const kept = this.#bySize.get(size);
    if (kept === undefined) this.#bySize.set(size, [buffer]);
    else kept.push(buffer);
    this.#bytes += size;
  }

  #makeRoom(size: number): void {
    for (const [other, kept] of this.#bySize) {
      if (other === size) return;
      while (this.#bytes + size > this.#mostBytes && kept.pop() !== undefined) this.#bytes -= other;
    }
  }
}

/** Whether a buffer of that length has no room to spare. @param bytes its length */
export function isSpareSize(bytes: number): boolean {
  return bytes >= SMALLEST_BYTES && bytes <= LARGEST_BYTES && (bytes & (bytes - 1)) === 0;
}
