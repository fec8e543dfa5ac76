import { describe, expect, it } from 'vitest';
import { leaf, list, object, text } from '../../../demo/game/unity/unity-type.ts';
import {
  writeSerializedFile,
  type SerializedFileContent,
} from '../../../demo/game/unity/write-serialized-file.ts';
import { createRandom, type Random } from '../../../demo/game/seeded-random.ts';
import { bytesSource } from '../../../src/formats/byte-source.ts';
import { FormatError } from '../../../src/formats/format-error.ts';
import { PatchError } from '../../../src/formats/patch/patch-error.ts';
import type { FieldEdit } from '../../../src/formats/patch/find-places.ts';
import { openSerializedFile, type SerializedFile } from '../../../src/formats/unity/serialized-file.ts';
import { isSerializedFile } from '../../../src/formats/unity/serialized-header.ts';
import { readObjectBytes } from '../../../src/formats/unity/visit-object.ts';
import { READ_LIMITS } from '../../../src/formats/value-visitor.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';
import { patchUnityFile, type UnityEdits } from '../../support/patch-unity.ts';
import {
  DIALOG_FIELDS,
  DIALOG_TEXTS,
  DIALOG_VALUE,
  LARGE_PATH_ID,
  sampleBehaviour,
  sampleObjects,
  sampleTextAsset,
} from '../../support/unity-samples.ts';
import { textsOfFile, type FoundText } from '../../support/unity-texts.ts';

const LAYOUTS = [17, 18, 19, 20, 21, 22].flatMap((version) =>
  [true, false].map((littleEndian) => ({ version, littleEndian })),
);

describe('openSerializedFile', () => {
  function open(bytes: Buffer, limits = READ_LIMITS): SerializedFile {
    return openSerializedFile(bytesSource(bytes), { limits });
  }

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

const SEED = 16;

const TARGETS = [
  '',
  'a',
  'Guten Morgen, "Lehrer"\r\n',
  'שלום 👩‍👩‍👧',
  'x'.repeat(3001),
  'NUL \0 inside',
  '\u3042',
  'four',
];

function edit(fieldPath: string, source: string, target: string): FieldEdit {
  return { fieldPath, source, target };
}

/** Random edits of a part of the texts of a file, and the texts that the patched file must have. */
function randomEdits(
  bytes: Buffer,
  random: Random,
): { readonly edits: Map<bigint, FieldEdit[]>; readonly expected: string[] } {
  const edits = new Map<bigint, FieldEdit[]>();
  const expected = textsOfFile(bytes).texts.map(({ pathId, path, text: source }) => {
    if (random.below(3) > 0) return `${pathId} ${path} ${source}`;
    const target = random.pick(TARGETS);
    edits.set(pathId, [...(edits.get(pathId) ?? []), edit(path, source, target)]);
    return `${pathId} ${path} ${target}`;
  });
  return { edits, expected };
}

function textLines(bytes: Buffer): string[] {
  const { texts, errors } = textsOfFile(bytes);
  expect(errors).toEqual([]);
  return texts.map(lineOf);
}

function lineOf({ pathId, path, text: value }: FoundText): string {
  return `${pathId} ${path} ${value}`;
}

function metadataWithoutPlaces(bytes: Buffer, { header, objects }: SerializedFile): Buffer {
  const copy = Buffer.from(bytes.subarray(header.headerBytes, header.dataOffset));
  for (const { entryOffset } of objects) {
    const at = entryOffset - header.headerBytes + 8;
    copy.fill(0, at, at + (header.version >= 22 ? 12 : 8));
  }
  return copy;
}

/** The edits that bring the old texts back. */
function reversed(edits: ReadonlyMap<bigint, readonly FieldEdit[]>): UnityEdits {
  return new Map(
    [...edits].map(([pathId, each]) => [
      pathId,
      each.map(({ fieldPath, source, target }) => edit(fieldPath, target, source)),
    ]),
  );
}

function hasTexts(bytes: Buffer): boolean {
  try {
    return textsOfFile(bytes).texts.length > 0;
  } catch (error) {
    if (error instanceof FormatError) return false;
    throw error;
  }
}

describe('the objects of a patched file', () => {
  function open(bytes: Buffer): SerializedFile {
    return openSerializedFile(bytesSource(bytes), { limits: READ_LIMITS });
  }

  /** The bytes of an object without those of its texts. */
  function withoutTexts(bytes: Buffer, pathId: bigint): Buffer {
    const file = open(bytes);
    const found = file.objects.find((each) => each.pathId === pathId);
    if (found === undefined) throw new Error('no object');
    const parts: Buffer[] = [];
    let at = 0;
    const all = readObjectBytes(file, found);
    for (const { start, end } of textsOfFile(bytes).texts.filter((each) => each.pathId === pathId)) {
      parts.push(all.subarray(at, start));
      at = end;
    }
    return Buffer.concat([...parts, all.subarray(at)]);
  }

  /** Everything but the object table and the size in the header. */
  function checkUntouched(before: Buffer, after: Buffer, edits: UnityEdits): void {
    const [old, patched] = [open(before), open(after)];
    expect(patched.header).toEqual({ ...old.header, fileSize: after.length });
    expect(after.length % 16).toBe(before.length % 16);
    expect(patched.objects.map(({ pathId, entryOffset }) => [pathId, entryOffset])).toEqual(
      old.objects.map(({ pathId, entryOffset }) => [pathId, entryOffset]),
    );
    for (const [index, object] of old.objects.entries()) {
      const now = patched.objects[index];
      if (now === undefined) throw new Error('no object');
      expect(now.offset % 16).toBe(object.offset % 16);
      if (edits.has(object.pathId)) {
        expect(withoutTexts(after, now.pathId).equals(withoutTexts(before, object.pathId))).toBe(true);
      } else {
        expect(readObjectBytes(patched, now).equals(readObjectBytes(old, object))).toBe(true);
      }
    }
    expect(metadataWithoutPlaces(after, patched).equals(metadataWithoutPlaces(before, old))).toBe(true);
  }

  describe('a patched serialized file', () => {
    it.each(LAYOUTS)('of version $version, little-endian: $littleEndian, has the new texts', (layout) => {
      const random = createRandom(layout.version);
      for (const objectAlignment of [4, 8, 16]) {
        for (let round = 0; round < 12; round += 1) {
          const content: SerializedFileContent = { ...layout, objects: sampleObjects(), objectAlignment };
          const before = writeSerializedFile(content);
          const { edits, expected } = randomEdits(before, random);
          const after = patchUnityFile(before, edits);
          expect(textLines(after)).toEqual(expected);
          checkUntouched(before, after, edits);
          // A change and its reversal give the same bytes.
          expect(patchUnityFile(after, reversed(edits)).equals(before)).toBe(true);
          expect(patchUnityFile(before, edits).equals(after)).toBe(true);
        }
      }
    });

    it('is the same as one that is written with the new texts', () => {
      const content = (body: string, tag: string): SerializedFileContent => ({
        version: 22,
        objectAlignment: 16,
        objects: [
          sampleTextAsset(1n, 'story', body),
          sampleBehaviour(2n, 'Dialog', DIALOG_FIELDS, { ...DIALOG_VALUE, tags: [tag, 'last'] }),
          sampleTextAsset(3n, 'end', 'same'),
        ],
      });
      const target = 'Es war einmal ein König.';
      const edits = new Map([
        [1n, [edit('m_Script', '昔々', target)]],
        [2n, [edit('tags[0]', '出会い', 'Begegnung')]],
      ]);
      const before = writeSerializedFile(content('昔々', '出会い'));
      const after = patchUnityFile(before, edits);
      const rewritten = writeSerializedFile(content(target, 'Begegnung'));
      // The writer of the demo does not pad the end of the file.
      expect(after.subarray(0, rewritten.length).subarray(48)).toEqual(rewritten.subarray(48));
      expect(after.length - rewritten.length).toBeLessThan(16);
    });

    it('keeps objects in an order that differs from the table, and what is behind the last one', () => {
      const before = Buffer.concat([
        writeSerializedFile({ version: 21, objects: sampleObjects() }),
        Buffer.from('behind the file'),
      ]);
      const old = open(before);
      // Two neighbours in the table swap their places.
      const [first, second] = [old.objects[0], old.objects[1]];
      if (first === undefined || second === undefined) throw new Error('no objects');
      const swapped = Buffer.from(before);
      before.copy(swapped, first.entryOffset, second.entryOffset, second.entryOffset + 20);
      before.copy(swapped, second.entryOffset, first.entryOffset, first.entryOffset + 20);
      const edits = new Map([[LARGE_PATH_ID, [edit('tags[1]', '', 'a new and longer text')]]]);
      const after = patchUnityFile(swapped, edits);
      const changed = textLines(swapped).map((line) =>
        line === `${LARGE_PATH_ID} tags[1] ` ? `${line}a new and longer text` : line,
      );
      expect(textLines(after)).toEqual(changed);
      expect(after.subarray(-15).toString()).toBe('behind the file');
    });

    it('keeps bytes between objects that are not padding', () => {
      const before = writeSerializedFile({ version: 22, objects: sampleObjects(), objectAlignment: 64 });
      const { objects } = open(before);
      const [first, second] = objects;
      if (first === undefined || second === undefined) throw new Error('no objects');
      const gap = { from: first.offset + first.size, to: second.offset };
      expect(gap.to - gap.from).toBeGreaterThan(0);
      before.fill(0xab, gap.from, gap.to);
      const after = patchUnityFile(before, new Map([[LARGE_PATH_ID, [edit('tags[1]', '', 'longer')]]]));
      const grown = open(after).objects[0];
      const end = (grown?.offset ?? 0) + (grown?.size ?? 0);
      expect(after.subarray(end, end + gap.to - gap.from)).toEqual(before.subarray(gap.from, gap.to));
      expect((open(after).objects[1]?.offset ?? 0) % 16).toBe(0);
    });

    it('writes payloads in the place of texts, also such that are not valid UTF-8', () => {
      const payload = Buffer.from([0x50, 0x4b, 3, 4, 0xff, 0xfe, 0x80]);
      const before = writeSerializedFile({
        version: 22,
        objects: [sampleTextAsset(1n, 'archive', payload), sampleTextAsset(2n, 'text', '{"a":"物語"}')],
      });
      const next = Buffer.concat([payload, payload]);
      const seen: (string | Uint8Array)[] = [];
      const nested = (target: string | Uint8Array) => ({
        fieldPath: 'm_Script',
        patch: (value: string | Uint8Array): string | Uint8Array => {
          seen.push(value);
          return target;
        },
      });
      const after = patchUnityFile(
        before,
        new Map([
          [1n, [nested(next)]],
          [2n, [nested('{"a":"story"}')]],
        ]),
      );
      expect(seen).toEqual([payload, '{"a":"物語"}']);
      const [archive, script] = open(after).objects.map((each) =>
        Buffer.from(readObjectBytes(open(after), each)),
      );
      expect(archive?.includes(next)).toBe(true);
      expect(script?.includes('{"a":"story"}')).toBe(true);
    });
  });

  describe('an edit that cannot be made', () => {
    const before = writeSerializedFile({ version: 22, objects: sampleObjects() });
    const refusal = (each: FieldEdit, pathId = LARGE_PATH_ID): unknown => {
      try {
        patchUnityFile(before, new Map([[pathId, [each]]]));
      } catch (error) {
        return error instanceof PatchError ? error.code : error;
      }
      return null;
    };

    it('is refused: a missing place, another source, half a character, too many bytes', () => {
      expect(refusal(edit('tags[0]', '出会い', 'ok'))).toBe(null);
      expect(refusal(edit('tags[7]', '出会い', 'x'))).toBe('place_not_found');
      expect(refusal(edit('tags[0]', '出会', 'x'))).toBe('source_differs');
      expect(refusal(edit('tags[0]', '出会い', 'x\uD800'))).toBe('character_not_allowed');
      expect(refusal(edit('tags[0]', '出会い', 'x'.repeat(READ_LIMITS.stringBytes + 1)))).toBe(
        'text_too_long',
      );
      expect(
        refusal(edit('m_Script', '{"text":"物語"}\n', 'x'.repeat(READ_LIMITS.stringBytes + 1)), 2n),
      ).toBe(null);
    });

    it('is refused where an object overlaps another one', () => {
      const damaged = writeSerializedFile({ version: 22, objects: sampleObjects() });
      const [first, second] = open(damaged).objects;
      if (first === undefined || second === undefined) throw new Error('no objects');
      damaged.copy(damaged, second.entryOffset + 8, first.entryOffset + 8, first.entryOffset + 16);
      const edits = new Map([[4n, [edit('m_TableData[0].m_Localized', 'こんにちは', 'Hallo')]]]);
      expect(() => patchUnityFile(damaged, edits)).toThrow('overlaps');
    });

    it('is refused where fields are not known', () => {
      const stripped = writeSerializedFile({
        version: 22,
        typeTrees: false,
        objects: [
          sampleBehaviour(1n, 'x', [list('a', object('b', 'data', [text('c')]))], { a: [{ c: '物' }] }),
          sampleTextAsset(2n, 'story', '物語'),
        ],
      });
      expect(() => patchUnityFile(stripped, new Map([[1n, [edit('a[0].c', '物', 'x')]]]))).toThrow(
        'type tree',
      );
      const after = patchUnityFile(stripped, new Map([[2n, [edit('m_Script', '物語', 'Story')]]]));
      expect(textsOfFile(after).texts.map((each) => each.text)).toEqual(['story', 'Story']);
    });
  });

  describe('a damaged file', () => {
    it('is refused, or patched so that the new texts and all others read back', () => {
      const whole = writeSerializedFile({ version: 22, objects: sampleObjects() });
      const random = createRandom(SEED);
      let patched = 0;
      for (const damaged of mutations(whole, { seed: SEED, count: campaignSize(1000, 20_000) })) {
        if (!hasTexts(damaged)) continue;
        const { edits, expected } = randomEdits(damaged, random);
        try {
          const after = patchUnityFile(damaged, edits);
          expect(textsOfFile(after).texts.map(lineOf)).toEqual(expected);
          patched += 1;
        } catch (error) {
          if (!(error instanceof FormatError) && !(error instanceof PatchError)) throw error;
        }
      }
      expect(patched).toBeGreaterThan(50);
    });
  });
});
