import { BASE_TYPE as TYPE } from '../../src/formats/flatbuffers/binary-schema.ts';
import { Builder } from 'flatbuffers';
import {
  binarySchema,
  type FieldDescription,
  type SchemaDescription,
} from '../../demo/game/binary-schema.ts';

/** The fields of the root table of {@link SAMPLE_SCHEMA}; the place is the number. */
const ROOT_FIELDS: readonly FieldDescription[] = [
  { name: 'flag', base: TYPE.bool },
  { name: 'i8', base: TYPE.byte },
  { name: 'u8', base: TYPE.ubyte },
  { name: 'i16', base: TYPE.short },
  { name: 'u16', base: TYPE.ushort },
  { name: 'i32', base: TYPE.int },
  { name: 'u32', base: TYPE.uint },
  { name: 'i64', base: TYPE.long },
  { name: 'u64', base: TYPE.ulong },
  { name: 'f32', base: TYPE.float },
  { name: 'f64', base: TYPE.double },
  { name: 'text', base: TYPE.string, required: true },
  { name: 'box', base: TYPE.object, refersTo: 'Box' },
  { name: 'child', base: TYPE.object, refersTo: 'Child' },
  { name: 'children', base: TYPE.vector, element: TYPE.object, refersTo: 'Child' },
  { name: 'texts', base: TYPE.vector, element: TYPE.string },
  { name: 'points', base: TYPE.vector, element: TYPE.object, refersTo: 'Point' },
  { name: 'numbers', base: TYPE.vector, element: TYPE.long },
  { name: 'ratios', base: TYPE.vector, element: TYPE.float },
  { name: 'blob', base: TYPE.vector, element: TYPE.ubyte },
  { name: 'any_type', base: TYPE.unionType, refersTo: 'Any' },
  { name: 'any', base: TYPE.union, refersTo: 'Any' },
  { name: 'many_type', base: TYPE.vector, element: TYPE.unionType, refersTo: 'Any' },
  { name: 'many', base: TYPE.vector, element: TYPE.union, refersTo: 'Any' },
  { name: 'level', base: TYPE.int, defaultInteger: 7n },
  { name: 'maybe', base: TYPE.int, optional: true },
  { name: 'old', base: TYPE.string, deprecated: true },
  { name: 'absent', base: TYPE.string },
];

/** A schema with every kind of field. */
export const SAMPLE_DESCRIPTION: SchemaDescription = {
  root: 'Root',
  identifier: 'SAMP',
  unions: [
    {
      name: 'Any',
      members: [
        { base: TYPE.object, refersTo: 'Child' },
        { base: TYPE.string },
        { base: TYPE.object, refersTo: 'Point' },
      ],
    },
  ],
  objects: [
    { name: 'Root', fields: ROOT_FIELDS },
    {
      name: 'Child',
      fields: [
        { name: 'name', base: TYPE.string },
        { name: 'child', base: TYPE.object, refersTo: 'Child' },
        { name: 'second', base: TYPE.object, refersTo: 'Child' },
      ],
    },
    {
      name: 'Point',
      structBytes: 8,
      fields: [
        { name: 'x', base: TYPE.int, offset: 0 },
        { name: 'y', base: TYPE.short, offset: 4 },
      ],
    },
    {
      name: 'Box',
      structBytes: 16,
      fields: [
        { name: 'corner', base: TYPE.object, refersTo: 'Point', offset: 0 },
        { name: 'marks', base: TYPE.array, element: TYPE.int, length: 2, offset: 8 },
      ],
    },
  ],
};

/** The binary schema of the samples. */
export const SAMPLE_SCHEMA: Uint8Array = binarySchema(SAMPLE_DESCRIPTION);

/** A buffer of {@link SAMPLE_SCHEMA} that uses every kind of field. */
export function sampleBuffer(): Buffer {
  const builder = new Builder(1024);
  const names = ['アロナ', 'プラナ', 'ホシノ'].map((name) => writeChild(builder, name));
  const [first = 0, second = 0, third = 0] = names;
  const shared = builder.createString('共有');
  const text = builder.createString('先生、おはよう。');
  const vectors = {
    children: offsetVector(builder, [second, third]),
    texts: offsetVector(builder, [shared, text, shared]),
    points: pointVector(builder),
    numbers: longVector(builder, [-1n, 2n ** 62n]),
    ratios: floatVector(builder, [1.5, 2.5]),
    blob: builder.createByteVector(Buffer.from('秘密')),
    manyTypes: builder.createByteVector(Buffer.of(2, 0, 1, 9)),
    many: offsetVector(builder, [text, shared, third, third]),
  };
  const unionPoint = builder.createString('結末');
  builder.startObject(28);
  builder.addFieldInt8(0, 1, 0);
  builder.addFieldInt8(1, -2, 0);
  builder.addFieldInt8(2, 200, 0);
  builder.addFieldInt16(3, -300, 0);
  builder.addFieldInt16(4, 60_000, 0);
  builder.addFieldInt32(5, -70_000, 0);
  builder.addFieldInt32(6, 4_000_000_000, 0);
  builder.addFieldInt64(7, 2n ** 53n + 1n, 0n);
  builder.addFieldInt64(8, 2n ** 64n - 1n, 0n);
  builder.addFieldFloat32(9, 1.5, 0);
  builder.addFieldFloat64(10, 2.5, 0);
  builder.addFieldOffset(11, text, 0);
  builder.addFieldStruct(12, writeBox(builder), 0);
  builder.addFieldOffset(13, first, 0);
  builder.addFieldOffset(14, vectors.children, 0);
  builder.addFieldOffset(15, vectors.texts, 0);
  builder.addFieldOffset(16, vectors.points, 0);
  builder.addFieldOffset(17, vectors.numbers, 0);
  builder.addFieldOffset(18, vectors.ratios, 0);
  builder.addFieldOffset(19, vectors.blob, 0);
  builder.addFieldInt8(20, 2, 0);
  builder.addFieldOffset(21, unionPoint, 0);
  builder.addFieldOffset(22, vectors.manyTypes, 0);
  builder.addFieldOffset(23, vectors.many, 0);
  builder.addFieldOffset(26, text, 0);
  builder.finish(builder.endObject(), 'SAMP');
  return Buffer.from(builder.asUint8Array());
}

/** A root table whose `child` is a chain of tables; each refers to the next one `references` times (1 or 2). */
export function childChain(levels: number, references: 1 | 2): Buffer {
  const builder = new Builder(1024);
  const text = builder.createString('');
  let child = writeChild(builder, 'innermost');
  for (let level = 1; level < levels; level += 1) {
    builder.startObject(3);
    builder.addFieldOffset(1, child, 0);
    if (references === 2) builder.addFieldOffset(2, child, 0);
    child = builder.endObject();
  }
  builder.startObject(28);
  builder.addFieldOffset(11, text, 0);
  builder.addFieldOffset(13, child, 0);
  builder.finish(builder.endObject(), 'SAMP');
  return Buffer.from(builder.asUint8Array());
}

/** A root table with `texts`, a vector that refers to one string `count` times. */
export function sharedTexts(text: string, count: number): Buffer {
  const builder = new Builder(1024);
  const offset = builder.createString(text);
  const texts = offsetVector(
    builder,
    Array.from({ length: count }, () => offset),
  );
  builder.startObject(28);
  builder.addFieldOffset(11, offset, 0);
  builder.addFieldOffset(15, texts, 0);
  builder.finish(builder.endObject(), 'SAMP');
  return Buffer.from(builder.asUint8Array());
}

function writeChild(builder: Builder, text: string): number {
  const name = builder.createString(text);
  builder.startObject(3);
  builder.addFieldOffset(0, name, 0);
  return builder.endObject();
}

function writeBox(builder: Builder): number {
  builder.prep(4, 16);
  builder.writeInt32(12);
  builder.writeInt32(11);
  writePointBytes(builder, 5, 6);
  return builder.offset();
}

function writePointBytes(builder: Builder, x: number, y: number): void {
  builder.pad(2);
  builder.writeInt16(y);
  builder.writeInt32(x);
}

function pointVector(builder: Builder): number {
  builder.startVector(8, 2, 4);
  writePointBytes(builder, 3, 4);
  writePointBytes(builder, 1, 2);
  return builder.endVector();
}

function longVector(builder: Builder, numbers: readonly bigint[]): number {
  builder.startVector(8, numbers.length, 8);
  for (const number of numbers.toReversed()) builder.addInt64(number);
  return builder.endVector();
}

function floatVector(builder: Builder, numbers: readonly number[]): number {
  builder.startVector(4, numbers.length, 4);
  for (const number of numbers.toReversed()) builder.addFloat32(number);
  return builder.endVector();
}

function offsetVector(builder: Builder, offsets: readonly number[]): number {
  builder.startVector(4, offsets.length, 4);
  for (const offset of offsets.toReversed()) builder.addOffset(offset);
  return builder.endVector();
}
