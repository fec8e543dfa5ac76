import { blockOf, blockSpan } from '../../domain/release/blocks.ts';
import type { BytePart } from '../../domain/http/byte-response.ts';
import type { BlockSpan } from './verified-object.ts';

/** The next bytes to send. */
export interface Chunk extends BlockSpan {
  /** Text to send before the bytes; empty except at the beginning of a part. */
  readonly head: string;
  /** Whether an earlier chunk of this cursor was in the same block. */
  readonly continuesBlock: boolean;
}

/** Walks over the parts of an answer in chunks that never cross a block. */
export class ChunkCursor {
  readonly #parts: readonly BytePart[];
  readonly #size: number;
  #part = 0;
  #position: number;
  #lastBlock = -1;

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
    const { end } = blockSpan(blockOf(this.#position), this.#size);
    return Math.min(part.end, end) - this.#position;
  }

  /** Takes the next bytes, at most `length` and at most {@link available}; `null` when none are left. */
  take(length: number): Chunk | null {
    const part = this.#parts[this.#part];
    if (part === undefined) return null;
    const start = this.#position;
    const end = start + Math.min(length, this.available);
    const block = blockOf(start);
    const chunk: Chunk = {
      block,
      start,
      end,
      head: start === part.start ? part.head : '',
      continuesBlock: block === this.#lastBlock,
    };
    this.#lastBlock = block;
    this.#position = end;
    if (end === part.end) {
      this.#part += 1;
      this.#position = this.#parts[this.#part]?.start ?? 0;
    }
    return chunk;
  }
}
