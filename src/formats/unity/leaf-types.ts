import type { ObjectCursor } from './object-cursor.ts';
import type { TypeTree } from './type-tree.ts';

type ReadInteger = (cursor: ObjectCursor) => number | bigint;

const INTEGERS = {
  SInt8: 'int8',
  UInt8: 'uint8',
  char: 'uint8',
  short: 'int16',
  SInt16: 'int16',
  'unsigned short': 'uint16',
  UInt16: 'uint16',
  int: 'int32',
  SInt32: 'int32',
  'unsigned int': 'uint32',
  UInt32: 'uint32',
  'Type*': 'uint32',
  'long long': 'int64',
  SInt64: 'int64',
  'unsigned long long': 'uint64',
  UInt64: 'uint64',
  FileSize: 'uint64',
} as const;

const SIZES = { int8: 1, uint8: 1, int16: 2, uint16: 2, int32: 4, uint32: 4, int64: 8, uint64: 8 } as const;
const OTHER_SIZES: ReadonlyMap<string, number> = new Map([
  ['bool', 1],
  ['float', 4],
  ['double', 8],
]);

/** The bytes of a type without fields: of a known one by its name, else as the type tree says. */
export function sizeOfLeaf({ type, byteSize }: TypeTree): number {
  const kind = kindOf(type);
  return kind === null ? (OTHER_SIZES.get(type) ?? Math.max(0, byteSize)) : SIZES[kind];
}

/** @returns `null` for other types than integers */
export function integerReader(type: string, littleEndian: boolean): ReadInteger | null {
  const kind = kindOf(type);
  return kind === null ? null : READERS[kind](littleEndian);
}

/** Reads the lengths of strings and arrays. */
export function int32Reader(littleEndian: boolean): (cursor: ObjectCursor) => number {
  return littleEndian
    ? (cursor) => cursor.bytes.readInt32LE(cursor.take(4))
    : (cursor) => cursor.bytes.readInt32BE(cursor.take(4));
}

type Kind = keyof typeof SIZES;

function kindOf(type: string): Kind | null {
  return Object.hasOwn(INTEGERS, type) ? INTEGERS[type as keyof typeof INTEGERS] : null;
}

const READERS: Readonly<Record<Kind, (littleEndian: boolean) => ReadInteger>> = {
  int8: () => (cursor) => cursor.bytes.readInt8(cursor.take(1)),
  uint8: () => (cursor) => cursor.bytes.readUInt8(cursor.take(1)),
  int16: (little) =>
    little
      ? (cursor) => cursor.bytes.readInt16LE(cursor.take(2))
      : (cursor) => cursor.bytes.readInt16BE(cursor.take(2)),
  uint16: (little) =>
    little
      ? (cursor) => cursor.bytes.readUInt16LE(cursor.take(2))
      : (cursor) => cursor.bytes.readUInt16BE(cursor.take(2)),
  int32: int32Reader,
  uint32: (little) =>
    little
      ? (cursor) => cursor.bytes.readUInt32LE(cursor.take(4))
      : (cursor) => cursor.bytes.readUInt32BE(cursor.take(4)),
  int64: (little) => (cursor) => {
    const at = cursor.take(8);
    const { bytes } = cursor;
    const high = little ? bytes.readInt32LE(at + 4) : bytes.readInt32BE(at);
    const value = high * 2 ** 32 + (little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at + 4));
    if (Number.isSafeInteger(value)) return value;
    return little ? bytes.readBigInt64LE(at) : bytes.readBigInt64BE(at);
  },
  uint64: (little) => (cursor) => {
    const at = cursor.take(8);
    const { bytes } = cursor;
    const high = little ? bytes.readUInt32LE(at + 4) : bytes.readUInt32BE(at);
    const value = high * 2 ** 32 + (little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at + 4));
    if (Number.isSafeInteger(value)) return value;
    return little ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at);
  },
};
