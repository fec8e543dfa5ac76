/** The types of fields, numbered as `BaseType` in FlatBuffers' reflection.fbs. */
export const BASE_TYPE = {
  none: 0,
  unionType: 1,
  bool: 2,
  byte: 3,
  ubyte: 4,
  short: 5,
  ushort: 6,
  int: 7,
  uint: 8,
  long: 9,
  ulong: 10,
  float: 11,
  double: 12,
  string: 13,
  vector: 14,
  object: 15,
  union: 16,
  array: 17,
} as const;

const SIZES = [1, 1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 4, 4, 4, 4, 0];

/**
 * Bytes of a value of this type inside a table, struct or vector: of the value for a scalar, of its offset for all else.
 * Structs and arrays have a size of their own.
 *
 * @returns `null` for a type that is not known
 */
export function baseTypeBytes(base: number): number | null {
  return SIZES[base] ?? null;
}

/** Whether values of this type are integers. */
export function isInteger(base: number): boolean {
  return base >= BASE_TYPE.byte && base <= BASE_TYPE.ulong;
}

/** Whether values of this type are stored in place. */
export function isScalar(base: number): boolean {
  return base >= BASE_TYPE.unionType && base <= BASE_TYPE.double;
}
