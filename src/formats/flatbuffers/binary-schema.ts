import { isUtf8 } from 'node:buffer';
import { CheckedBuffer, type TableView } from './checked-buffer.ts';

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

export function isInteger(base: number): boolean {
  return base >= BASE_TYPE.byte && base <= BASE_TYPE.ulong;
}

/** Whether values of this type are stored in place. */
export function isScalar(base: number): boolean {
  return base >= BASE_TYPE.unionType && base <= BASE_TYPE.double;
}

export interface SchemaType {
  readonly base: number;
  /** The type of the elements of a vector or array. */
  readonly element: number;
  /** Index of the object or union that the type or its elements refer to; -1 without one. */
  readonly index: number;
  readonly length: number;
}

export interface SchemaField {
  readonly name: string;
  readonly type: SchemaType;
  /** Tables: offset of the entry within the vtable, in bytes. Structs: offset of the value within the struct. */
  readonly offset: number;
  /** The value of an absent integer. */
  readonly defaultInteger: bigint;
  /** Whether an absent scalar has no value. */
  readonly optional: boolean;
  /** Whether a table without the field is invalid. */
  readonly required: boolean;
}

export interface SchemaObject {
  readonly name: string;
  readonly isStruct: boolean;
  readonly bytes: number;
  readonly fields: readonly SchemaField[];
}

export interface BinarySchema {
  readonly objects: readonly SchemaObject[];
  /** The members of each enum by their number; empty for an enum that is not a union. */
  readonly unions: readonly ReadonlyMap<number, SchemaType>[];
  readonly root: SchemaObject;
  /** The four bytes that mark files of this schema; `null` if files are not marked. */
  readonly identifier: string | null;
}

/** Offsets of the fields within the vtables of reflection.fbs: 4 + 2 * (number of the field). */
const SCHEMA = { objects: 4, enums: 6, identifier: 8, root: 12 };
const OBJECT = { name: 4, fields: 6, isStruct: 8, bytes: 12 };
const ENUM = { values: 6, isUnion: 8 };
const ENUM_VALUE = { value: 6, unionType: 10 };
const FIELD = {
  name: 4,
  type: 6,
  id: 8,
  offset: 10,
  defaultInteger: 12,
  deprecated: 16,
  required: 18,
  optional: 26,
  offset64: 30,
};
const TYPE = { base: 4, element: 6, index: 8, length: 10 };

const IDENTIFIER_OFFSET = 4;
const IDENTIFIER_BYTES = 4;

/**
 * Reads a schema as `flatc --binary --schema` writes it (a `.bfbs` file, described by FlatBuffers' reflection.fbs).
 *
 * @throws FormatError `schema_invalid`, also for 64-bit offsets, which are not supported
 */
export function readBinarySchema(bytes: Uint8Array): BinarySchema {
  const buffer = new CheckedBuffer(bytes, 'schema_invalid');
  buffer.check(IDENTIFIER_OFFSET, IDENTIFIER_BYTES);
  if (buffer.bytes.toString('latin1', IDENTIFIER_OFFSET, IDENTIFIER_OFFSET + IDENTIFIER_BYTES) !== 'BFBS') {
    throw buffer.error('the file is not a binary FlatBuffers schema', IDENTIFIER_OFFSET);
  }
  const schema = buffer.table(buffer.follow(0));
  const objects = tables(buffer, schema, SCHEMA.objects).map((object) => readObject(buffer, object));
  const unions = tables(buffer, schema, SCHEMA.enums).map((each) => readUnion(buffer, each));
  const rootPosition = buffer.field(schema, SCHEMA.root);
  if (rootPosition === null) throw buffer.error('the schema declares no root_type', schema.position);
  const rootName = requiredText(buffer, buffer.table(buffer.follow(rootPosition)), OBJECT.name);
  const root = objects.find(({ name }) => name === rootName);
  if (root === undefined || root.isStruct) {
    throw buffer.error(`the schema has no table ${JSON.stringify(rootName)}, its root_type`, rootPosition);
  }
  checkReferences(buffer, objects, unions);
  return { objects, unions, root, identifier: text(buffer, schema, SCHEMA.identifier) || null };
}

function readObject(buffer: CheckedBuffer, table: TableView): SchemaObject {
  const isStruct = integer(buffer, table, OBJECT.isStruct, 1, 0) !== 0;
  const fields = tables(buffer, table, OBJECT.fields)
    .filter((field) => integer(buffer, field, FIELD.deprecated, 1, 0) === 0)
    .map((field) => ({ id: integer(buffer, field, FIELD.id, 2, 0), field: readField(buffer, field) }))
    .toSorted((left, right) => left.id - right.id)
    .map(({ field }) => field);
  const name = requiredText(buffer, table, OBJECT.name);
  const bytes = integer(buffer, table, OBJECT.bytes, 4, 0);
  if (isStruct && bytes <= 0) throw buffer.error(`the struct "${name}" has ${bytes} bytes`, table.position);
  return { name, isStruct, bytes, fields };
}

function readField(buffer: CheckedBuffer, table: TableView): SchemaField {
  const name = requiredText(buffer, table, FIELD.name);
  const typePosition = buffer.field(table, FIELD.type);
  if (typePosition === null) throw buffer.error(`the field "${name}" has no type`, table.position);
  if (integer(buffer, table, FIELD.offset64, 1, 0) !== 0) {
    throw buffer.error(`the field "${name}" has a 64-bit offset, which is not supported`, table.position);
  }
  const defaultPosition = buffer.field(table, FIELD.defaultInteger);
  return {
    name,
    type: readType(buffer, buffer.table(buffer.follow(typePosition))),
    offset: integer(buffer, table, FIELD.offset, 2, 0),
    defaultInteger: defaultPosition === null ? 0n : buffer.int64(defaultPosition),
    optional: integer(buffer, table, FIELD.optional, 1, 0) !== 0,
    required: integer(buffer, table, FIELD.required, 1, 0) !== 0,
  };
}

function readType(buffer: CheckedBuffer, table: TableView): SchemaType {
  const base = integer(buffer, table, TYPE.base, 1, 0);
  const element = integer(buffer, table, TYPE.element, 1, 0);
  for (const each of [base, element]) {
    if (baseTypeBytes(each) === null) throw buffer.error(`the type ${each} is not supported`, table.position);
  }
  return {
    base,
    element,
    index: integer(buffer, table, TYPE.index, 4, -1),
    length: integer(buffer, table, TYPE.length, 2, 0),
  };
}

function readUnion(buffer: CheckedBuffer, table: TableView): ReadonlyMap<number, SchemaType> {
  const members = new Map<number, SchemaType>();
  if (integer(buffer, table, ENUM.isUnion, 1, 0) === 0) return members;
  for (const value of tables(buffer, table, ENUM.values)) {
    const number = buffer.field(value, ENUM_VALUE.value);
    const type = buffer.field(value, ENUM_VALUE.unionType);
    if (number === null || type === null) continue;
    members.set(Number(buffer.int64(number)), readType(buffer, buffer.table(buffer.follow(type))));
  }
  return members;
}

/** Every type that refers to an object or a union must name one that exists. */
function checkReferences(
  buffer: CheckedBuffer,
  objects: readonly SchemaObject[],
  unions: readonly ReadonlyMap<number, SchemaType>[],
): void {
  const check = ({ base, element, index }: SchemaType, owner: string): void => {
    const target = base === BASE_TYPE.vector || base === BASE_TYPE.array ? element : base;
    const count = { [BASE_TYPE.object]: objects.length, [BASE_TYPE.union]: unions.length }[target];
    if (count === undefined || (index >= 0 && index < count)) return;
    throw buffer.error(`the type of ${owner} refers to number ${index} of ${count}`, null);
  };
  for (const object of objects) {
    for (const { name, type } of object.fields) check(type, `${object.name}.${name}`);
  }
  for (const union of unions) {
    for (const type of union.values()) check(type, 'a union member');
  }
}

function integer(
  buffer: CheckedBuffer,
  table: TableView,
  slot: number,
  bytes: 1 | 2 | 4,
  absent: number,
): number {
  const position = buffer.field(table, slot);
  if (position === null) return absent;
  if (bytes === 1) return buffer.uint8(position);
  return bytes === 2 ? buffer.uint16(position) : buffer.int32(position);
}

function tables(buffer: CheckedBuffer, table: TableView, slot: number): TableView[] {
  const position = buffer.field(table, slot);
  if (position === null) return [];
  const { start, length } = buffer.vector(position, 4);
  return Array.from({ length }, (_, index) => buffer.table(buffer.follow(start + index * 4)));
}

function text(buffer: CheckedBuffer, table: TableView, slot: number): string | null {
  const position = buffer.field(table, slot);
  if (position === null) return null;
  const { start, length } = buffer.string(position);
  const bytes = buffer.bytes.subarray(start, start + length);
  if (!isUtf8(bytes)) throw buffer.error('a name is not valid UTF-8', start);
  return bytes.toString('utf8');
}

function requiredText(buffer: CheckedBuffer, table: TableView, slot: number): string {
  const value = text(buffer, table, slot);
  if (value === null) throw buffer.error('a name is missing', table.position);
  return value;
}
