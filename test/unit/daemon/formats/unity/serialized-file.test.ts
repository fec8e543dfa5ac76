import { describe, expect, it } from 'vitest';
import { leaf, object, text } from '../../../../../src/cli/dev/demo/unity/unity-type.ts';
import { writeSerializedFile } from '../../../../../src/cli/dev/demo/unity/write-serialized-file.ts';
import { bytesSource } from '../../../../../src/daemon/formats/byte-source.ts';
import {
  openSerializedFile,
  type SerializedFile,
} from '../../../../../src/daemon/formats/unity/serialized-file.ts';
import { isSerializedFile } from '../../../../../src/daemon/formats/unity/serialized-header.ts';
import { READ_LIMITS } from '../../../../../src/daemon/formats/value-visitor.ts';
import {
  DIALOG_TEXTS,
  LARGE_PATH_ID,
  sampleObjects,
  sampleTextAsset,
} from '../../../../support/unity-samples.ts';
import { textsOfFile } from '../../../../support/unity-texts.ts';

function open(bytes: Buffer, limits = READ_LIMITS): SerializedFile {
  return openSerializedFile(bytesSource(bytes), { limits });
}

const LAYOUTS = [17, 18, 19, 20, 21, 22].flatMap((version) =>
  [true, false].map((littleEndian) => ({ version, littleEndian })),
);

describe('openSerializedFile', () => {
  it.each(LAYOUTS)('reads version $version, little-endian: $littleEndian', (layout) => {
    const bytes = writeSerializedFile({
      ...layout,
      objects: sampleObjects(),
      externals: ['archive:/CAB-x/CAB-x', 'library/unity default resources'],
      referenceTypes: [object('Effect', 'Base', [leaf('int', 'power'), text('name')])],
    });
    expect(isSerializedFile(bytesSource(bytes))).toBe(true);
    const file = open(bytes);
    expect(file.engineVersion).toBe('2022.3.10f1');
    expect(file.externals).toEqual(['archive:/CAB-x/CAB-x', 'library/unity default resources']);
    expect(file.objects.map(({ pathId, type }) => [pathId, type.classId])).toEqual([
      [LARGE_PATH_ID, 114],
      [2n, 49],
      [3n, 115],
      [4n, 114],
    ]);
    expect(file.objects.map(({ type }) => type.scriptHash)).toEqual([
      '10'.repeat(16),
      null,
      null,
      '8d1f2b0c64f04b4f9a8e35d7c2e60117',
    ]);
    const { texts, errors } = textsOfFile(bytes);
    expect(errors).toEqual([]);
    expect(
      texts.filter(({ pathId }) => pathId === LARGE_PATH_ID).map((each) => [each.path, each.text]),
    ).toEqual([['m_Name', 'Dialog'], ...DIALOG_TEXTS]);
  });

  it.each([17, 22])('says where the table entry of an object stands, in version %d', (version) => {
    const bytes = writeSerializedFile({ version, objects: sampleObjects() });
    const { header, objects } = open(bytes);
    for (const { entryOffset, pathId, offset, size } of objects) {
      expect(bytes.readBigInt64LE(entryOffset)).toBe(pathId);
      const at = entryOffset + 8;
      const stored = version === 22 ? Number(bytes.readBigInt64LE(at)) : bytes.readUInt32LE(at);
      expect(stored + header.dataOffset).toBe(offset);
      expect(bytes.readUInt32LE(at + (version === 22 ? 8 : 4))).toBe(size);
    }
  });

  it.each([0, 16, 24, 64])('refuses version %d', (version) => {
    const bytes = writeSerializedFile({ version: 22, objects: sampleObjects() });
    bytes.writeUInt32BE(version, 8);
    expect(() => open(bytes)).toThrow(expect.objectContaining({ code: 'serialized_version_unsupported' }));
  });

  it('refuses version 23, and says when its type trees were extracted', () => {
    const bytes = writeSerializedFile({ version: 22, objects: [sampleTextAsset(1n, 'a', 'b')] });
    bytes.writeUInt32BE(23, 8);
    expect(() => open(bytes)).toThrow(expect.objectContaining({ code: 'serialized_version_unsupported' }));
    // Version 23 has a hash over the tree and its size behind the two hashes of a type.
    const typeStart = 48 + '2022.3.10f1\0'.length + 4 + 1 + 4;
    bytes.fill(0, typeStart + 7 + 32, typeStart + 7 + 36);
    expect(() => open(bytes)).toThrow(expect.objectContaining({ code: 'typetree_extracted_unsupported' }));
  });

  it('tells serialized files from resources', () => {
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(19), Buffer.alloc(100), Buffer.alloc(100, 0xff)]) {
      expect(isSerializedFile(bytesSource(bytes))).toBe(false);
    }
    const old = writeSerializedFile({ version: 17, objects: [] });
    old.writeUInt32BE(9, 8);
    expect(isSerializedFile(bytesSource(old))).toBe(true);
  });

  it.each([
    ['the metadata', 20, 4, 1 << 30],
    ['the file', 24, 8, 2 ** 40],
    ['the data', 32, 8, 2 ** 40],
  ])('refuses a lie about the size of %s', (_what, at, size, value) => {
    const bytes = writeSerializedFile({ version: 22, objects: sampleObjects() });
    if (size === 8) bytes.writeBigInt64BE(BigInt(value), at);
    else bytes.writeUInt32BE(value, at);
    expect(() => open(bytes)).toThrow(expect.objectContaining({ code: 'serialized_invalid' }));
  });

  it.each([
    ['an offset behind the file', 8, 8, 1n << 40n],
    ['a size behind the file', 16, 4, 0xffff_ffffn],
    ['a type that does not exist', 20, 4, 99n],
  ])('refuses an object with %s', (_what, at, size, value) => {
    const bytes = writeSerializedFile({ version: 22, objects: sampleObjects() });
    const [first] = open(bytes).objects;
    if (first === undefined) throw new Error('no object');
    if (size === 8) bytes.writeBigInt64LE(value, first.entryOffset + at);
    else bytes.writeUInt32LE(Number(value), first.entryOffset + at);
    expect(() => open(bytes)).toThrow(expect.objectContaining({ code: 'serialized_invalid' }));
  });

  it('refuses objects that share bytes, which would multiply the work', () => {
    const objects = Array.from({ length: 50 }, (_, index) =>
      sampleTextAsset(BigInt(index), 'n', 'x'.repeat(1000)),
    );
    const bytes = writeSerializedFile({ version: 22, objects });
    for (const { entryOffset } of open(bytes).objects) {
      bytes.writeBigInt64LE(0n, entryOffset + 8);
      bytes.writeUInt32LE(20_000, entryOffset + 16);
    }
    expect(() => open(bytes)).toThrow(/does not fit into the file/);
  });

  it('refuses counts that cannot be true', () => {
    const bytes = writeSerializedFile({ version: 22, objects: sampleObjects() });
    const typeCount = 48 + '2022.3.10f1\0'.length + 4 + 1;
    for (const count of [-1, 0x7fff_ffff]) {
      bytes.writeInt32LE(count, typeCount);
      expect(() => open(bytes)).toThrow(
        expect.objectContaining({ code: 'serialized_invalid', offset: typeCount }),
      );
    }
  });

  it('holds the limits on objects', () => {
    const bytes = writeSerializedFile({ version: 22, objects: sampleObjects() });
    expect(() => open(bytes, { ...READ_LIMITS, elements: 3 })).toThrow(
      expect.objectContaining({ code: 'container_limit_exceeded' }),
    );
  });

  describe('with a damaged type tree', () => {
    const bytes = writeSerializedFile({ version: 22, objects: [sampleTextAsset(1n, 'a', 'b')] });
    const tree = 48 + '2022.3.10f1\0'.length + 4 + 1 + 4 + 7 + 16;
    const node = (index: number): number => tree + 8 + index * 32;

    it.each([
      ['a second root, as in a cycle', (each: Buffer) => each.writeUInt8(0, node(3) + 2)],
      ['a node without a parent', (each: Buffer) => each.writeUInt8(9, node(3) + 2)],
      ['a root that is not at level 0', (each: Buffer) => each.writeUInt8(1, node(0) + 2)],
      ['a name outside of its names', (each: Buffer) => each.writeUInt32LE(0x7fff_0000, node(2) + 8)],
      ['no nodes', (each: Buffer) => each.writeUInt32LE(0, tree)],
    ])('refuses %s', (_what, damage) => {
      const damaged = Buffer.from(bytes);
      damage(damaged);
      expect(() => open(damaged)).toThrow(expect.objectContaining({ code: 'typetree_invalid' }));
    });

    it('refuses one that is too deep', () => {
      let deep = text('text');
      for (let level = 0; level < 70; level += 1) deep = object('Nested', 'nested', [deep]);
      const file = writeSerializedFile({
        version: 22,
        objects: [{ pathId: 1n, classId: 1, type: deep, value: nested(70) }],
      });
      expect(() => open(file)).toThrow(/deeper than 64 levels/);
    });
  });
});

function nested(levels: number): { readonly [field: string]: string | ReturnType<typeof nested> } {
  return levels === 1 ? { text: 'x' } : { nested: nested(levels - 1) };
}
