import { FormatError } from '../format-error.ts';
import { bufferOf } from '../../platform/buffer-of.ts';

export interface TableView {
  readonly position: number;
  readonly vtable: number;
  readonly vtableBytes: number;
}

export interface VectorView {
  readonly prefix: number;
  readonly start: number;
  readonly length: number;
}

const OFFSET_BYTES = 4;
const VTABLE_HEADER_BYTES = 4;
const SLOT_BYTES = 2;

/**
 * Reads the structures of a FlatBuffer and checks every position. An offset that leads to its own position or backwards
 * does not exist in the format (offsets are unsigned), so no walk along offsets can run in a circle.
 *
 * The layout is that of the FlatBuffers Internals document: little-endian, offsets of 32 bits.
 */
export class CheckedBuffer {
  readonly bytes: Buffer;
  readonly #code: 'flatbuffers_invalid' | 'schema_invalid';

  /** @param code the code of the errors that the methods throw */
  constructor(bytes: Uint8Array, code: 'flatbuffers_invalid' | 'schema_invalid') {
    this.bytes = bufferOf(bytes);
    this.#code = code;
  }

  /** The error of a structure that contradicts the bytes; `null` where no byte is to blame. */
  error(message: string, position: number | null): FormatError {
    return new FormatError(this.#code, message, position);
  }

  /** @throws FormatError unless the buffer holds `length` bytes at the position */
  check(position: number, length: number): void {
    if (position >= 0 && length <= this.bytes.length - position) return;
    throw this.error(`${length} bytes are expected within a buffer of ${this.bytes.length} bytes`, position);
  }

  uint8(position: number): number {
    this.check(position, 1);
    return this.bytes.readUInt8(position);
  }

  int8(position: number): number {
    this.check(position, 1);
    return this.bytes.readInt8(position);
  }

  uint16(position: number): number {
    this.check(position, 2);
    return this.bytes.readUInt16LE(position);
  }

  int16(position: number): number {
    this.check(position, 2);
    return this.bytes.readInt16LE(position);
  }

  uint32(position: number): number {
    this.check(position, 4);
    return this.bytes.readUInt32LE(position);
  }

  int32(position: number): number {
    this.check(position, 4);
    return this.bytes.readInt32LE(position);
  }

  uint64(position: number): bigint {
    this.check(position, 8);
    return this.bytes.readBigUInt64LE(position);
  }

  int64(position: number): bigint {
    this.check(position, 8);
    return this.bytes.readBigInt64LE(position);
  }

  follow(position: number): number {
    const offset = this.uint32(position);
    if (offset === 0) throw this.error('an offset leads to itself', position);
    this.check(position + offset, 1);
    return position + offset;
  }

  table(position: number): TableView {
    const vtable = position - this.int32(position);
    if (vtable < 0) throw this.error('a table has its vtable outside of the buffer', position);
    const vtableBytes = this.uint16(vtable);
    if (vtableBytes < VTABLE_HEADER_BYTES || vtableBytes % SLOT_BYTES !== 0) {
      throw this.error(`a vtable of ${vtableBytes} bytes is not possible`, vtable);
    }
    this.check(vtable, vtableBytes);
    return { position, vtable, vtableBytes };
  }

  /**
   * The position of a field's inline value.
   *
   * @param slot offset of the field's entry within the vtable, in bytes
   * @returns `null` for an absent field
   */
  field(table: TableView, slot: number): number | null {
    if (slot + SLOT_BYTES > table.vtableBytes) return null;
    const offset = this.uint16(table.vtable + slot);
    return offset === 0 ? null : table.position + offset;
  }

  vector(position: number, elementBytes: number): VectorView {
    const prefix = this.follow(position);
    const length = this.uint32(prefix);
    const start = prefix + OFFSET_BYTES;
    this.check(start, length * elementBytes);
    return { prefix, start, length };
  }

  /** The string to which the offset at `position` leads; a zero byte ends it. */
  string(position: number): VectorView {
    const view = this.vector(position, 1);
    const end = view.start + view.length;
    if (this.uint8(end) !== 0) throw this.error('a string does not end with a zero byte', end);
    return view;
  }
}
