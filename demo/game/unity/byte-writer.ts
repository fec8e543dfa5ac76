/** Appends numbers and bytes to a growing buffer. */
export class ByteWriter {
  littleEndian: boolean;
  #bytes = Buffer.alloc(256);
  #length = 0;

  constructor(littleEndian = false) {
    this.littleEndian = littleEndian;
  }

  get length(): number {
    return this.#length;
  }

  /** A whole number of 1, 2, 4 or 8 bytes, signed or not. */
  integer(value: number | bigint, size: number): void {
    const at = this.#grow(size);
    const number = BigInt.asUintN(size * 8, BigInt(value));
    for (let index = 0; index < size; index += 1) {
      const shift = 8 * (this.littleEndian ? index : size - 1 - index);
      this.#bytes[at + index] = Number((number >> BigInt(shift)) & 0xffn);
    }
  }

  /** A number of 4 or 8 bytes with a fraction. */
  float(value: number, size: number): void {
    const at = this.#grow(size);
    const view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset);
    if (size === 4) view.setFloat32(at, value, this.littleEndian);
    else view.setFloat64(at, value, this.littleEndian);
  }

  bytes(bytes: Uint8Array): void {
    const at = this.#grow(bytes.length);
    this.#bytes.set(bytes, at);
  }

  terminatedString(text: string): void {
    this.bytes(Buffer.from(`${text}\0`));
  }

  /** Appends zeros up to a multiple of `alignment`. */
  align(alignment: number): void {
    this.bytes(Buffer.alloc((alignment - (this.#length % alignment)) % alignment));
  }

  result(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length));
  }

  #grow(size: number): number {
    const at = this.#length;
    this.#length += size;
    if (this.#length > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(this.#length, this.#bytes.length * 2));
      this.#bytes.copy(larger);
      this.#bytes = larger;
    }
    return at;
  }
}
