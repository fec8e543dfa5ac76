import { FormatError, type FormatErrorCode } from '../format-error.ts';
import type { ReadLimits, ValueVisitor } from '../value-visitor.ts';

export type Step = (cursor: ObjectCursor) => void;

export type ReadLength = (cursor: ObjectCursor) => number;

/** Bytes that each value of a type has, and whether that needs a first value at a multiple of 4. */
export interface FixedLayout {
  readonly size: number;
  readonly aligned: boolean;
}

/** A type tree as functions, so that reading an object does not need the tree. */
export interface CompiledType {
  readonly visit: Step;
  readonly skip: Step;
  readonly hasText: boolean;
  /** Whether the value holds a text, or an integer outside of arrays. Others are skipped. */
  readonly isVisible: boolean;
  /** `null` where values differ in size. */
  readonly layout: FixedLayout | null;
  readonly smallest: number;
}

/** The C# type of a managed reference. */
export interface ReferenceName {
  readonly className: string;
  readonly namespace: string;
  readonly assembly: string;
}

/** Finds the fields of the type of a managed reference; `null` where nothing describes them. */
export type ReferenceTypeOf = (name: ReferenceName) => CompiledType | null;

export const LENGTH_BYTES = 4;

/** Reads the lengths of strings and arrays. */
export function int32Reader(littleEndian: boolean): ReadLength {
  return littleEndian
    ? (cursor) => cursor.bytes.readInt32LE(cursor.take(4))
    : (cursor) => cursor.bytes.readInt32BE(cursor.take(4));
}

/** Moves behind a text and its padding. @returns the position behind its last byte */
export function takeText(cursor: ObjectCursor, int32: ReadLength): number {
  const start = cursor.position;
  const length = int32(cursor);
  if (length < 0 || length > cursor.size - cursor.position) {
    throw cursor.fail('typetree_size_mismatch', `a string of ${length} bytes exceeds the object`, start);
  }
  const end = cursor.take(length) + length;
  cursor.align();
  return end;
}

/** Reads the number of elements, and refuses one that cannot be true before it is used. */
export function takeCount(cursor: ObjectCursor, int32: ReadLength, smallest: number): number {
  const start = cursor.position;
  const count = int32(cursor);
  if (count < 0 || count * smallest > cursor.size - cursor.position) {
    throw cursor.fail('typetree_size_mismatch', `an array of ${count} elements exceeds the object`, start);
  }
  return count;
}

/** The position in an object while a compiled type tree runs over it. */
export class ObjectCursor {
  position = 0;
  /** What of the object could not be read, although all in front of it could. */
  unread: FormatError | null = null;
  readonly bytes: Buffer;
  readonly size: number;
  readonly visitor: ValueVisitor;
  readonly limits: ReadLimits;
  readonly referenceTypeOf: ReferenceTypeOf;

  constructor(
    bytes: Buffer,
    visitor: ValueVisitor,
    limits: ReadLimits,
    referenceTypeOf: ReferenceTypeOf = () => null,
  ) {
    this.bytes = bytes;
    this.size = bytes.length;
    this.visitor = visitor;
    this.limits = limits;
    this.referenceTypeOf = referenceTypeOf;
  }

  take(length: number): number {
    const at = this.position;
    if (length > this.size - at) {
      throw this.fail('typetree_size_mismatch', `a value of ${length} bytes exceeds the object`);
    }
    this.position = at + length;
    return at;
  }

  align(): void {
    const rest = this.position & 3;
    if (rest > 0) this.take(4 - rest);
  }

  fail(code: FormatErrorCode, message: string, position = this.position): FormatError {
    return new FormatError(code, message, position);
  }
}
