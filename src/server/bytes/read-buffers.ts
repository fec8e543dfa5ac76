import { isSpareSize, SpareBuffers } from '../../platform/memory/spare-buffers.ts';

/** Memory for reuse, and the number of views that still use it. */
interface UsedMemory {
  readonly buffer: ArrayBuffer;
  views: number;
}

/**
 * Memory for reads, reused after its last user (a client that receives it, or the block cache) has given it back. Each
 * user holds its own view and gives back that same object. If a view never comes back, the garbage collector frees its
 * memory; a view that comes back twice counts once.
 */
export class ReadBuffers {
  readonly #spare: SpareBuffers;
  /** By view. Weak, so that the garbage collector can free a view that was never given back. */
  readonly #used = new WeakMap<Buffer, UsedMemory>();

  /** @param mostSpareBytes bytes kept while nobody uses them */
  constructor(mostSpareBytes: number) {
    this.#spare = new SpareBuffers(mostSpareBytes);
  }

  /** Bytes kept for the next reads. */
  get spareBytes(): number {
    return this.#spare.bytes;
  }

  /**
   * A view of memory with undefined content, without more memory behind it.
   *
   * @param length bytes, more than 0
   */
  take(length: number): Buffer {
    // Not from the shared pool of Node, which would stay in memory as long as the slowest client.
    if (!isSpareSize(length)) return Buffer.allocUnsafeSlow(length);
    const buffer = this.#spare.take(length);
    const view = Buffer.from(buffer, 0, length);
    this.#used.set(view, { buffer, views: 1 });
    return view;
  }

  /**
   * Another view of the same memory, for a user that does not know when the other users give theirs back.
   *
   * @param bytes a view that has not been given back
   * @param start first byte of the new view, relative to `bytes`
   * @param end one past its last byte
   */
  share(bytes: Buffer, start = 0, end = bytes.length): Buffer {
    const memory = this.#used.get(bytes);
    if (memory === undefined) {
      return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
    }
    const view = bytes.subarray(start, end);
    memory.views += 1;
    this.#used.set(view, memory);
    return view;
  }

  /** Ends the use of a view. A view that did not come from here is ignored. */
  giveBack(view: Buffer): void {
    const memory = this.#used.get(view);
    if (memory === undefined) return;
    this.#used.delete(view);
    memory.views -= 1;
    if (memory.views === 0) this.#spare.put(memory.buffer);
  }
}
