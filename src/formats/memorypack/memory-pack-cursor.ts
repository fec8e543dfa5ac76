/** A document that is not the MemoryPack that was expected; `offset` is the byte at which that shows. */
export class MemoryPackError extends Error {
  override readonly name: string = 'MemoryPackError';
  readonly offset: number;

  constructor(problem: string, offset: number) {
    super(`${problem} (at byte ${offset})`);
    this.offset = offset;
  }
}

/** The byte of an object header that stands for `null`; 250 to 254 are reserved. */
const NULL_OBJECT = 255;
const MEMBERS_MAX = 249;
/** The length that stands for a null collection or string. */
const NULL_LENGTH = -1;

/**
 * Reads the primitive values of a MemoryPack document, front to back. Every length is compared with the bytes that are
 * left before anything is allocated.
 *
 * Source of the rules: MemoryPack, "Binary wire format specification" (README of Cysharp/MemoryPack).
 */
export class MemoryPackCursor {
  readonly #bytes: Buffer;
  readonly #utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get offset(): number {
    return this.#offset;
  }

  readObjectHeader(): number | null {
    const at = this.#take(1, 'an object');
    const count = this.#bytes.readUInt8(at);
    if (count === NULL_OBJECT) return null;
    if (count > MEMBERS_MAX) throw new MemoryPackError(`${count} is not the header of an object`, at);
    return count;
  }

  /**
   * Reads the header of a collection.
   *
   * @param smallest fewest bytes that one element takes, at least 1
   * @throws MemoryPackError, also when the rest of the document is too short for that many elements
   */
  readCollectionHeader(smallest: number): number | null {
    const at = this.#take(4, 'a collection');
    const count = this.#bytes.readInt32LE(at);
    if (count === NULL_LENGTH) return null;
    const left = this.#bytes.length - this.#offset;
    if (count < 0 || count * smallest > left) {
      throw new MemoryPackError(
        `a collection of ${count} elements does not fit into the ${left} bytes left`,
        at,
      );
    }
    return count;
  }

  /**
   * Reads a string in either of its two forms.
   *
   * @throws MemoryPackError, also when the two lengths of a string contradict each other
   */
  readString(): string | null {
    const at = this.#take(4, 'a string');
    const header = this.#bytes.readInt32LE(at);
    if (header === NULL_LENGTH) return null;
    if (header >= 0) {
      const start = this.#take(header * 2, 'a string in UTF-16');
      return this.#bytes.toString('utf16le', start, this.#offset);
    }
    const characters = this.#bytes.readInt32LE(this.#take(4, 'the length of a string'));
    const start = this.#take(~header, 'a string in UTF-8');
    let text: string;
    try {
      text = this.#utf8.decode(this.#bytes.subarray(start, this.#offset));
    } catch {
      throw new MemoryPackError('a string is not valid UTF-8', start);
    }
    if (characters !== NULL_LENGTH && characters !== text.length) {
      throw new MemoryPackError(
        `a string has ${text.length} characters although its header states ${characters}`,
        at,
      );
    }
    return text;
  }

  readBoolean(): boolean {
    const at = this.#take(1, 'a truth value');
    const value = this.#bytes.readUInt8(at);
    if (value > 1) throw new MemoryPackError(`${value} is not a truth value`, at);
    return value === 1;
  }

  readInt32(): number {
    return this.#bytes.readInt32LE(this.#take(4, 'a 32-bit number'));
  }

  /** Reads a 64-bit number, signed. @returns the nearest double; it is exact up to 2^53 */
  readInt64(): number {
    return Number(this.#bytes.readBigInt64LE(this.#take(8, 'a 64-bit number')));
  }

  #take(count: number, what: string): number {
    const at = this.#offset;
    const left = this.#bytes.length - at;
    if (count > left) {
      throw new MemoryPackError(`${what} of ${count} bytes does not fit into the ${left} bytes left`, at);
    }
    this.#offset += count;
    return at;
  }
}
