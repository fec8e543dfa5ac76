import { FormatError, type FormatErrorCode } from '../format-error.ts';

/** Reads headers and tables field by field. Every read is checked against the end of the bytes. */
export class MetadataCursor {
  position = 0;
  littleEndian = false;
  readonly #bytes: Buffer;
  readonly #code: FormatErrorCode;
  readonly #base: number;

  /** @param base position of the first byte in the file, for messages */
  constructor(bytes: Buffer, code: FormatErrorCode, base = 0) {
    this.#bytes = bytes;
    this.#code = code;
    this.#base = base;
  }

  get remaining(): number {
    return this.#bytes.length - this.position;
  }

  get filePosition(): number {
    return this.#base + this.position;
  }

  fail(message: string, position = this.position): FormatError {
    return new FormatError(this.#code, message, this.#base + position);
  }

  uint8(): number {
    const at = this.#take(1);
    return this.#bytes.readUInt8(at);
  }

  int16(): number {
    const at = this.#take(2);
    return this.littleEndian ? this.#bytes.readInt16LE(at) : this.#bytes.readInt16BE(at);
  }

  uint16(): number {
    return this.int16() & 0xffff;
  }

  int32(): number {
    const at = this.#take(4);
    return this.littleEndian ? this.#bytes.readInt32LE(at) : this.#bytes.readInt32BE(at);
  }

  uint32(): number {
    return this.int32() >>> 0;
  }

  int64(): bigint {
    const at = this.#take(8);
    return this.littleEndian ? this.#bytes.readBigInt64LE(at) : this.#bytes.readBigInt64BE(at);
  }

  size64(): number {
    const at = this.position;
    const value = this.int64();
    if (value < 0n || value > Number.MAX_SAFE_INTEGER) throw this.fail(`${value} is not a size`, at);
    return Number(value);
  }

  /**
   * The number of following items.
   *
   * @param itemBytes the bytes of the smallest item, so that a count that cannot be true is refused before it is used
   */
  count(itemBytes: number, most: number): number {
    const at = this.position;
    const value = this.int32();
    if (value < 0 || value * itemBytes > this.remaining) {
      throw this.fail(`${value} items do not fit into ${this.remaining} bytes`, at);
    }
    if (value > most) {
      throw new FormatError(
        'container_limit_exceeded',
        `${value} items are more than ${most}`,
        this.#base + at,
      );
    }
    return value;
  }

  bytes(length: number): Buffer {
    const at = this.#take(length);
    return this.#bytes.subarray(at, at + length);
  }

  terminatedString(): string {
    const end = this.#bytes.indexOf(0, this.position);
    if (end < 0) throw this.fail('a string has no end');
    const text = this.#bytes.toString('utf8', this.position, end);
    this.position = end + 1;
    return text;
  }

  /** Skips to the next multiple of `alignment`, counted from the start of the bytes. */
  align(alignment: number): void {
    const rest = this.position % alignment;
    if (rest > 0) this.#take(alignment - rest);
  }

  #take(length: number): number {
    const at = this.position;
    if (length > this.#bytes.length - at) throw this.fail(`the bytes end before a field of ${length} bytes`);
    this.position = at + length;
    return at;
  }
}
