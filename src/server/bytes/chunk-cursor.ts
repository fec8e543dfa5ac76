import { blockBytesOf } from '../../domain/release/blocks.ts';
import type { BytePart } from '../../domain/http/byte-response.ts';
import { extentOf, extentSpan, type ObjectSpan } from './extents.ts';

/** The next bytes to send. */
interface Chunk extends ObjectSpan {
  /** Text to send before the bytes; empty except at the beginning of a part. */
  readonly head: string;
  /** Whether an earlier chunk of this cursor was in the same extent. */
  readonly continuesExtent: boolean;
}

/** Walks over the parts of an answer in chunks that never cross an extent. */
export class ChunkCursor {
  readonly #parts: readonly BytePart[];
  readonly #size: number;
  #part = 0;
  #position: number;
  #lastExtent = -1;

  /**
   * @param parts each with at least one byte
   * @param size bytes of the object
   */
  constructor(parts: readonly BytePart[], size: number) {
    this.#parts = parts;
    this.#size = size;
    this.#position = parts[0]?.start ?? 0;
  }

  /** Whether all bytes were taken. */
  get done(): boolean {
    return this.#part >= this.#parts.length;
  }

  /** Number of bytes that the next call can take. */
  get available(): number {
    const part = this.#parts[this.#part];
    if (part === undefined) return 0;
    const { end } = extentSpan(extentOf(this.#position), this.#size);
    return Math.min(part.end, end) - this.#position;
  }

  /** Takes the next bytes, at most `length` and at most {@link available}; `null` when none are left. */
  take(length: number): Chunk | null {
    const part = this.#parts[this.#part];
    if (part === undefined) return null;
    const start = this.#position;
    const end = this.#endOf(start, Math.min(length, this.available));
    const extent = extentOf(start);
    const chunk: Chunk = {
      start,
      end,
      head: start === part.start ? part.head : '',
      continuesExtent: extent === this.#lastExtent,
    };
    this.#lastExtent = extent;
    this.#position = end;
    if (end === part.end) {
      this.#part += 1;
      this.#position = this.#parts[this.#part]?.start ?? 0;
    }
    return chunk;
  }

  /** The end of a chunk: the last one between blocks, so that the next chunk does not read a block again. */
  #endOf(start: number, length: number): number {
    const end = start + length;
    if (length === this.available) return end;
    const aligned = end - (end % blockBytesOf(this.#size));
    return aligned > start ? aligned : end;
  }
}
