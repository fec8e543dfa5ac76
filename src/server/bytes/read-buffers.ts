import { isSpareSize, SpareBuffers } from '../../platform/memory/spare-buffers.ts';

/** Reads of fewer bytes get a buffer of their own: small ones are cheap, and rounded up they would hold too much. */
const FEWEST_BYTES = 32 * 1024;
const MOST_BYTES = 1024 * 1024;

/** Memory that is used again, and how many still use it. */
interface UsedMemory {
  readonly buffer: ArrayBuffer;
  views: number;
}

/**
 * Memory for reads that is used again as soon as the last of those who share it has given it back: a client to whom it
 * is sent, the cache of blocks. Everybody holds a view of his own and gives back that very object. A view that never
 * comes back leaves its memory to the garbage collector, one that comes back twice counts once.
 */
export class ReadBuffers {
  readonly #spare: SpareBuffers;
  /** By view. Weak: who forgets a view gives it to the garbage collector. */
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
   * A view of memory with undefined content, which may be up to twice as long behind it.
   *
   * @param length bytes, more than 0
   */
  take(length: number): Buffer {
    // Never of the shared pool of Node, which would stay in memory as long as the slowest client.
    if (length < FEWEST_BYTES || length > MOST_BYTES) return Buffer.allocUnsafeSlow(length);
    return this.#view(this.#spare.take(length), length);
  }

  /** Like {@link take}, but never with more memory behind the view: for what is kept for long. */
  takeExactly(length: number): Buffer {
    return isSpareSize(length) ? this.take(length) : Buffer.allocUnsafeSlow(length);
  }

  /** Takes in memory that somebody else has made, so that it is used again; nobody else may use it any more. */
  adopt(bytes: Buffer): void {
    const { buffer, length } = bytes;
    if (buffer instanceof ArrayBuffer && buffer.byteLength === length && isSpareSize(length)) {
      this.#used.set(bytes, { buffer, views: 1 });
    }
  }

  /**
   * Another view of the same memory, for somebody who does not know when the others give theirs back.
   *
   * @param bytes a view that has not been given back
   * @param start first byte of the new view, counted in `bytes`
   * @param end one past its last
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

  /** Ends the use of a view. Bytes that did not come from here are left alone. */
  giveBack(view: Buffer): void {
    const memory = this.#used.get(view);
    if (memory === undefined) return;
    this.#used.delete(view);
    memory.views -= 1;
    if (memory.views === 0) this.#spare.put(memory.buffer);
  }

  #view(buffer: ArrayBuffer, length: number): Buffer {
    const view = Buffer.from(buffer, 0, length);
    this.#used.set(view, { buffer, views: 1 });
    return view;
  }
}
