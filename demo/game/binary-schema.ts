import { BASE_TYPE } from '../../src/formats/flatbuffers/binary-schema.ts';
import { Builder } from 'flatbuffers';

/** A type; `refersTo` names its object or union, or that of its elements. */
interface TypeDescription {
  readonly base: number;
  readonly element?: number;
  readonly refersTo?: string;
  readonly length?: number;
}

/** A field. Its number is its place in the object. */
export interface FieldDescription extends TypeDescription {
  readonly name: string;
  readonly defaultInteger?: bigint;
  /** In a struct: bytes from its beginning. */
  readonly offset?: number;
  readonly deprecated?: boolean;
  readonly required?: boolean;
  readonly optional?: boolean;
}

/** A table, or a struct with its size in bytes. */
interface ObjectDescription {
  readonly name: string;
  readonly structBytes?: number;
  readonly fields: readonly FieldDescription[];
}

/** A schema of tables, structs and unions. */
export interface SchemaDescription {
  readonly objects: readonly ObjectDescription[];
  readonly unions?: readonly { readonly name: string; readonly members: readonly TypeDescription[] }[];
  readonly root?: string;
  readonly identifier?: string;
}

/** Gives the index of an object or union. */
type IndexOf = (type: TypeDescription) => number;

/**
 * Writes a schema as `flatc --binary --schema` does (a `.bfbs` file; the numbers of the fields are those of
 * FlatBuffers' reflection.fbs). The same description gives the same bytes.
 */
export function binarySchema(description: SchemaDescription): Uint8Array {
  const builder = new Builder(1024);
  const objects = description.objects.toSorted(byName);
  const unions = (description.unions ?? []).toSorted(byName);
  const indexOf: IndexOf = ({ base, element, refersTo }) => {
    const target = element === undefined ? base : element;
    const isUnion = target === BASE_TYPE.union || target === BASE_TYPE.unionType;
    return (isUnion ? unions : objects).findIndex(({ name }) => name === refersTo);
  };
  const objectOffsets = objects.map((object) => writeObject(builder, object, indexOf));
  const enumOffsets = unions.map(({ name, members }) => writeUnion(builder, name, members, indexOf));
  const objectVector = offsets(builder, objectOffsets);
  const enumVector = offsets(builder, enumOffsets);
  const identifier = description.identifier === undefined ? 0 : builder.createString(description.identifier);
  builder.startObject(8);
  builder.addFieldOffset(0, objectVector, 0);
  builder.addFieldOffset(1, enumVector, 0);
  builder.addFieldOffset(2, identifier, 0);
  const root = objects.findIndex(({ name }) => name === description.root);
  builder.addFieldOffset(4, objectOffsets[root] ?? 0, 0);
  builder.finish(builder.endObject(), 'BFBS');
  return builder.asUint8Array();
}

function writeObject(builder: Builder, object: ObjectDescription, indexOf: IndexOf): number {
  const isStruct = object.structBytes !== undefined;
  const fields = object.fields
    .map((field, number) => ({ ...field, number }))
    .toSorted(byName)
    .map((field) => writeField(builder, field, isStruct, indexOf));
  const vector = offsets(builder, fields);
  const name = builder.createString(object.name);
  builder.startObject(8);
  builder.addFieldOffset(0, name, 0);
  builder.addFieldOffset(1, vector, 0);
  builder.addFieldInt8(2, Number(isStruct), 0);
  builder.addFieldInt32(3, 4, 0);
  builder.addFieldInt32(4, object.structBytes ?? 0, 0);
  return builder.endObject();
}

function writeField(
  builder: Builder,
  field: FieldDescription & { readonly number: number },
  isStruct: boolean,
  indexOf: IndexOf,
): number {
  const name = builder.createString(field.name);
  const type = writeType(builder, field, indexOf);
  builder.startObject(14);
  builder.addFieldOffset(0, name, 0);
  builder.addFieldOffset(1, type, 0);
  builder.addFieldInt16(2, field.number, 0);
  builder.addFieldInt16(3, isStruct ? (field.offset ?? 0) : 4 + 2 * field.number, 0);
  builder.addFieldInt64(4, field.defaultInteger ?? 0n, 0n);
  builder.addFieldInt8(6, Number(field.deprecated ?? false), 0);
  builder.addFieldInt8(7, Number(field.required ?? false), 0);
  builder.addFieldInt8(11, Number(field.optional ?? false), 0);
  return builder.endObject();
}

function writeType(builder: Builder, type: TypeDescription, indexOf: IndexOf): number {
  const index = type.refersTo === undefined ? -1 : indexOf(type);
  builder.startObject(6);
  builder.addFieldInt8(0, type.base, 0);
  builder.addFieldInt8(1, type.element ?? 0, 0);
  builder.addFieldInt32(2, index, -1);
  builder.addFieldInt16(3, type.length ?? 0, 0);
  return builder.endObject();
}

function writeUnion(
  builder: Builder,
  unionName: string,
  members: readonly TypeDescription[],
  indexOf: IndexOf,
): number {
  const none: TypeDescription = { base: BASE_TYPE.none };
  const values = [none, ...members].map((member, number) => {
    const name = builder.createString(number === 0 ? 'NONE' : (member.refersTo ?? `Member${number}`));
    const type = writeType(builder, member, indexOf);
    builder.startObject(6);
    builder.addFieldOffset(0, name, 0);
    builder.addFieldInt64(1, BigInt(number), 0n);
    builder.addFieldOffset(3, type, 0);
    return builder.endObject();
  });
  const vector = offsets(builder, values);
  const underlying = writeType(builder, { base: BASE_TYPE.unionType, refersTo: unionName }, indexOf);
  const name = builder.createString(unionName);
  builder.startObject(7);
  builder.addFieldOffset(0, name, 0);
  builder.addFieldOffset(1, vector, 0);
  builder.addFieldInt8(2, 1, 0);
  builder.addFieldOffset(3, underlying, 0);
  return builder.endObject();
}

function offsets(builder: Builder, items: readonly number[]): number {
  builder.startVector(4, items.length, 4);
  for (const item of items.toReversed()) builder.addOffset(item);
  return builder.endVector();
}

/** The order of code points, which `flatc` searches by. */
function byName(left: { readonly name: string }, right: { readonly name: string }): number {
  return Buffer.compare(Buffer.from(left.name), Buffer.from(right.name));
}
