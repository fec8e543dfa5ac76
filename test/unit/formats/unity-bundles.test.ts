import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { writeBundle, type BundleOptions } from '../../../demo/game/unity/write-bundle.ts';
import { writeSerializedFile } from '../../../demo/game/unity/write-serialized-file.ts';
import { createRandom } from '../../../demo/game/seeded-random.ts';
import { bytesSource } from '../../../src/formats/byte-source.ts';
import { FormatError } from '../../../src/formats/format-error.ts';
import { PatchError } from '../../../src/formats/patch/patch-error.ts';
import { isUnityBundle } from '../../../src/formats/unity/bundle-header.ts';
import { patchBundle } from '../../../src/formats/unity/bundle-patch.ts';
import { openBundle, type Bundle } from '../../../src/formats/unity/bundle.ts';
import { READ_LIMITS } from '../../../src/formats/value-visitor.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';
import { patchUnityBundle, type UnityEdits } from '../../support/patch-unity.ts';
import { sampleObjects, sampleTextAsset } from '../../support/unity-samples.ts';
import { textsOfBundle } from '../../support/unity-texts.ts';

const COMPRESSIONS = ['none', 'lz4', 'lz4hc', 'lzma'] as const;

const FILES = [
  { name: 'CAB-one', bytes: Buffer.from('物語の始まり。'.repeat(5000)) },
  { name: 'CAB-one.resS', bytes: createRandom(5).bytes(70_000), flags: 0 },
  { name: 'empty', bytes: Buffer.alloc(0) },
];

/** Where the fields stand in a bundle of {@link writeBundle}. */
const HEADER = { version: 8, size: 30, infoCompressedBytes: 38, infoBytes: 42, flags: 46 };

/** A bundle with some header fields changed. */
function changed(change: (bytes: Buffer) => void, options = {}): Buffer {
  const bytes = writeBundle(FILES, { compression: 'none', ...options });
  change(bytes);
  return bytes;
}

describe('openBundle', () => {
  function open(bytes: Buffer, limits = READ_LIMITS): Bundle {
    return openBundle(bytesSource(bytes), limits);
  }

  const layouts = [6, 7, 8].flatMap((version) =>
    COMPRESSIONS.flatMap((compression) =>
      [false, true].map((infoAtEnd) => ({ version, compression, infoAtEnd, paddedStart: version === 8 })),
    ),
  );

  it.each(layouts)('reads version $version, $compression, directory at the end: $infoAtEnd', (layout) => {
    const bundle = open(writeBundle(FILES, { ...layout, blockBytes: 4096 }));
    expect(bundle.header.version).toBe(layout.version);
    expect(bundle.nodes.map(({ name, flags }) => [name, flags])).toEqual([
      ['CAB-one', 4],
      ['CAB-one.resS', 0],
      ['empty', 4],
    ]);
    for (const [index, node] of bundle.nodes.entries()) {
      const source = bundle.open(node);
      expect(source.read(0, source.size).equals(FILES[index]?.bytes ?? Buffer.alloc(0))).toBe(true);
    }
  });

  it('reads any range of a node, within and across blocks', () => {
    const bundle = open(writeBundle(FILES, { blockBytes: 1000 }));
    const [, node] = bundle.nodes;
    if (node === undefined) throw new Error('no node');
    const expected = FILES[1]?.bytes ?? Buffer.alloc(0);
    const random = createRandom(3);
    for (let round = 0; round < 200; round += 1) {
      const from = random.below(expected.length);
      const length = random.below(Math.min(5000, expected.length - from));
      expect(
        bundle
          .open(node)
          .read(from, length)
          .equals(expected.subarray(from, from + length)),
      ).toBe(true);
    }
    expect(() => bundle.open(node).read(node.size - 1, 2)).toThrow(RangeError);
  });

  it('says where the blocks stand in the file', () => {
    const bytes = writeBundle(FILES, { compression: 'none', blockBytes: 50_000 });
    const { blocks } = open(bytes);
    const data = Buffer.concat(FILES.map((file) => file.bytes));
    expect(blocks.length).toBeGreaterThan(2);
    for (const { offset, compressedSize, start, size } of blocks) {
      expect(bytes.subarray(offset, offset + compressedSize)).toEqual(data.subarray(start, start + size));
    }
  });

  it('ignores bytes behind the bundle', () => {
    const bytes = Buffer.concat([writeBundle(FILES, { infoAtEnd: true }), Buffer.alloc(100)]);
    expect(open(bytes).nodes.length).toBe(3);
  });

  it('reads a bundle of version 6 that Unity 2019.4.15 aligned', () => {
    const aligned = writeBundle(FILES, { version: 7, engineVersion: '2019.4.15f1' });
    aligned.writeUInt32BE(6, HEADER.version);
    expect(open(aligned).nodes.length).toBe(3);
  });

  it.each(['UnityWeb', 'UnityRaw', 'UnityArchive'])('refuses %s', (signature) => {
    const bytes = Buffer.from(`${signature}\0\0\0\0\x033.x.x\0`);
    expect(isUnityBundle(bytes)).toBe(true);
    expect(() => open(bytes)).toThrow(expect.objectContaining({ code: 'bundle_signature_unsupported' }));
  });

  it.each([5, 9, 0xffff_ffff])('refuses UnityFS %d', (version) => {
    const bytes = changed((each) => each.writeUInt32BE(version, HEADER.version));
    expect(() => open(bytes)).toThrow(expect.objectContaining({ code: 'bundle_signature_unsupported' }));
  });

  it('takes other files for no bundle', () => {
    for (const text of ['', 'UnityFS', 'UnityFSX\0', 'PK\x03\x04']) {
      expect(isUnityBundle(Buffer.from(text))).toBe(false);
      expect(() => open(Buffer.from(text))).toThrow(
        expect.objectContaining({ code: 'bundle_signature_unsupported' }),
      );
    }
  });

  it.each([0x400, 0x1000, 0x1400, 0x800, 0x8000_0000])('takes the flag %d for encryption', (flag) => {
    const bytes = changed((each) => each.writeUInt32BE((0x40 | flag) >>> 0, HEADER.flags));
    expect(() => open(bytes)).toThrow(
      expect.objectContaining({ code: 'bundle_encrypted', offset: HEADER.flags }),
    );
  });

  it.each([
    ['2019.4.40f1', true],
    ['2020.3.33f1', true],
    ['2020.3.34f1', false],
    ['2021.3.1f1', true],
    ['2021.3.2f1', false],
    ['2022.1.0f1', true],
    ['2022.1.1f1', false],
    ['2022.3.10f1', false],
    ['6000.0.23f1', false],
    ['0.0.0', false],
  ])('takes the flag 512 of Unity %s for encryption: %s', (engineVersion, isEncrypted) => {
    const bytes = writeBundle(FILES, { engineVersion, paddedStart: true, version: 8 });
    if (isEncrypted) {
      expect(() => open(bytes)).toThrow(expect.objectContaining({ code: 'bundle_encrypted' }));
    } else {
      expect(open(bytes).nodes.length).toBe(3);
    }
  });

  it('takes unknown flags of a block for encryption', () => {
    const bytes = changed(() => undefined);
    const firstBlockFlags = open(bytes).header.headerBytes + 16 + 4 + 8;
    bytes.writeUInt16BE(0x100, firstBlockFlags);
    expect(() => open(bytes)).toThrow(expect.objectContaining({ code: 'bundle_encrypted' }));
  });

  it.each([
    ['the size of the file', (bytes: Buffer) => bytes.writeBigInt64BE(1n << 40n, HEADER.size)],
    ['a negative size', (bytes: Buffer) => bytes.writeBigInt64BE(-1n, HEADER.size)],
    [
      'the compressed size of the directory',
      (bytes: Buffer) => bytes.writeUInt32BE(1 << 30, HEADER.infoCompressedBytes),
    ],
    ['the number of blocks', (bytes: Buffer) => bytes.writeInt32BE(0x7fff_ffff, 64 + 16)],
    ['a negative number of blocks', (bytes: Buffer) => bytes.writeInt32BE(-1, 64 + 16)],
    ['the compressed size of a block', (bytes: Buffer) => bytes.writeUInt32BE(1 << 30, 64 + 16 + 4 + 4)],
    ['the size of a node', (bytes: Buffer) => bytes.writeBigInt64BE(1n << 40n, 64 + 16 + 4 + 20 + 4 + 8)],
    ['the position of a node', (bytes: Buffer) => bytes.writeBigInt64BE(-5n, 64 + 16 + 4 + 20 + 4)],
  ])('refuses a lie about %s', (_what, change) => {
    // Two blocks: the directory begins at byte 64, because this header has 50 bytes and is aligned to 16.
    const bytes = changed(change, { blockBytes: 150_000 });
    expect(() => open(bytes)).toThrow(expect.objectContaining({ code: 'bundle_invalid' }));
  });

  it('refuses nodes that share bytes, which would multiply the work', () => {
    const bytes = changed(() => undefined, { blockBytes: 150_000 });
    const secondNode = 64 + 16 + 4 + 20 + 4 + 20 + 'CAB-one\0'.length;
    bytes.writeBigInt64BE(0n, secondNode);
    bytes.writeBigInt64BE(BigInt(FILES[0]?.bytes.length ?? 0), secondNode + 8);
    bytes.writeBigInt64BE(0n, 64 + 16 + 4 + 20 + 4);
    expect(() => open(bytes)).toThrow(expect.objectContaining({ code: 'bundle_invalid' }));
  });

  it.each(['lz4', 'lzma'] as const)('refuses a damaged %s block when it is read', (compression) => {
    const bytes = writeBundle(FILES, { compression, infoAtEnd: true, blockBytes: 1 << 20 });
    const [block] = open(bytes).blocks;
    if (block === undefined) throw new Error('no block');
    bytes.fill(0xff, block.offset + 5, block.offset + block.compressedSize);
    const bundle = open(bytes);
    const [node] = bundle.nodes;
    if (node === undefined) throw new Error('no node');
    expect(() => bundle.open(node).read(0, 100)).toThrow(
      expect.objectContaining({ code: 'block_decompress_failed', offset: block.offset }),
    );
  });

  it('refuses an unknown compression', () => {
    const bytes = changed((each) => each.writeUInt32BE(0x44, HEADER.flags));
    expect(() => open(bytes)).toThrow(/compression method 4 is unknown/);
  });

  it('refuses a block whose size is another one than claimed', () => {
    const bytes = changed((each) => each.writeUInt32BE(each.readUInt32BE(64 + 20) + 1, 64 + 20));
    const bundle = open(bytes);
    const [node] = bundle.nodes;
    if (node === undefined) throw new Error('no node');
    expect(() => bundle.open(node).read(0, 1)).toThrow(
      expect.objectContaining({ code: 'block_decompress_failed' }),
    );
  });

  it('refuses a ratio bomb before it allocates anything', () => {
    const zeros = [{ name: 'zeros', bytes: Buffer.alloc(8 * 1024 * 1024) }];
    for (const compression of ['lz4', 'lzma'] as const) {
      expect(() => open(writeBundle(zeros, { compression }))).toThrow(
        expect.objectContaining({ code: 'container_limit_exceeded' }),
      );
    }
    const directory = changed((each) => each.writeUInt32BE(0x7fff_ffff, HEADER.infoBytes));
    expect(() => open(directory)).toThrow(expect.objectContaining({ code: 'container_limit_exceeded' }));
  });

  it('refuses a block that claims more bytes than its compression can make', () => {
    const bytes = changed((each) => {
      each.writeUInt32BE(900_000, 64 + 20);
      each.writeUInt32BE(1000, 64 + 24);
      each.writeUInt16BE(2, 64 + 28);
    });
    const bundle = open(bytes);
    const [node] = bundle.nodes;
    if (node === undefined) throw new Error('no node');
    expect(() => bundle.open(node).read(0, 1)).toThrow(/1000 bytes cannot become 900000/);
  });

  it('holds the limits on sizes and entries', () => {
    const bytes = writeBundle(FILES, { blockBytes: 1000 });
    for (const limits of [{ entryBytes: 999 }, { elements: 2 }]) {
      expect(() => open(bytes, { ...READ_LIMITS, ...limits })).toThrow(
        expect.objectContaining({ code: 'container_limit_exceeded' }),
      );
    }
  });
});

const RESOURCE = createRandom(7).bytes(70_001);
const SEED = 16;
const EDITS: UnityEdits = new Map([
  [
    2n,
    [{ fieldPath: 'm_Script', source: '{"text":"物語"}\n', target: '{"text":"Es war einmal ein König"}\n' }],
  ],
  [4n, [{ fieldPath: 'm_TableData[1].m_Localized', source: '{0}個の石', target: '{0} stones' }]],
]);

/** The targets of {@link EDITS} by their sources. */
const TRANSLATED: ReadonlyMap<string, string> = new Map(
  [...EDITS.values()]
    .flat()
    .flatMap((edit) => ('source' in edit ? [[edit.source, edit.target] as const] : [])),
);

function sampleBundle(options: BundleOptions = {}): Buffer {
  const first = writeSerializedFile({ version: 22, objects: sampleObjects(), objectAlignment: 16 });
  const second = writeSerializedFile({
    version: 17,
    littleEndian: false,
    objects: [sampleTextAsset(9n, 'untouched', '同じ'.repeat(2000))],
  });
  return writeBundle(
    [
      { name: 'CAB-one', bytes: first },
      { name: 'CAB-one.resS', bytes: RESOURCE, flags: 0 },
      { name: 'CAB-two', bytes: second },
    ],
    options,
  );
}

function nodeBytes(bundle: Bundle): Map<string, Buffer> {
  return new Map(bundle.nodes.map((node) => [node.name, Buffer.from(bundle.open(node).read(0, node.size))]));
}

function textLines(bytes: Buffer): string[] {
  return textsOfBundle(bytes).texts.map(({ pathId, path, text }) => `${pathId} ${path} ${text}`);
}

/** Compressions of the blocks, without repeats. */
function methodsOf({ blocks }: Bundle): number[] {
  return [...new Set(blocks.map(({ flags }) => flags & 0x3f))];
}

/** A bundle with texts in front of much data that compresses. */
function largeBundle(compression: (typeof COMPRESSIONS)[number] = 'lz4', size = 2_000_000): Buffer {
  const words = createRandom(4).bytes(size).toString('hex');
  return writeBundle(
    [
      { name: 'CAB-one', bytes: writeSerializedFile({ version: 22, objects: sampleObjects() }) },
      { name: 'CAB-one.resS', bytes: Buffer.from(words), flags: 0 },
    ],
    { compression },
  );
}

/** The texts of a bundle; `null` when it is refused or has none. */
function tryRead(bytes: Buffer): readonly string[] | null {
  try {
    const { texts } = textsOfBundle(bytes);
    return texts.length === 0 ? null : texts.map(({ text }) => text);
  } catch (error) {
    if (error instanceof FormatError) return null;
    throw error;
  }
}

describe('a bundle that is patched', () => {
  function open(bytes: Buffer): Bundle {
    return openBundle(bytesSource(bytes), READ_LIMITS);
  }

  describe('patchBundle', () => {
    const layouts = [6, 7, 8].flatMap((version) =>
      COMPRESSIONS.flatMap((compression) =>
        [false, true].flatMap((infoAtEnd) =>
          [false, true].map((paddedStart) => ({ version, compression, infoAtEnd, paddedStart })),
        ),
      ),
    );

    it.each(layouts)(
      'changes version $version, $compression, directory at the end: $infoAtEnd, padded: $paddedStart',
      (layout) => {
        const before = sampleBundle({ ...layout, blockBytes: 4096 });
        const patched = patchUnityBundle(before, EDITS);
        const [old, now] = [open(before), open(patched.bytes)];
        expect(patched.size).toBe(patched.bytes.length);
        expect({ ...now.header, fileSize: 0, infoCompressedBytes: 0, infoBytes: 0 }).toEqual({
          ...old.header,
          fileSize: 0,
          infoCompressedBytes: 0,
          infoBytes: 0,
        });
        expect(now.header.fileSize).toBe(patched.bytes.length);
        expect(now.nodes.map(({ name, flags }) => [name, flags])).toEqual(
          old.nodes.map(({ name, flags }) => [name, flags]),
        );
        const [oldNodes, nodes] = [nodeBytes(old), nodeBytes(now)];
        for (const name of ['CAB-one.resS', 'CAB-two']) {
          expect(nodes.get(name)?.equals(oldNodes.get(name) ?? Buffer.alloc(0))).toBe(true);
        }
        const all = Buffer.concat([...nodes.values()]);
        expect(patched.crc32).toBe(crc32(all));
        expect(now.data.size).toBe(all.length);
        expect(textLines(patched.bytes)).toEqual(
          textLines(before).map((line) =>
            line
              .replace('{"text":"物語"}', '{"text":"Es war einmal ein König"}')
              .replace('{0}個の石', '{0} stones'),
          ),
        );
        expect(patchUnityBundle(before, EDITS).bytes.equals(patched.bytes)).toBe(true);
      },
    );

    it('keeps the method of compression; LZMA becomes LZ4, and what does not become smaller is stored', () => {
      const methods = COMPRESSIONS.map((compression) =>
        methodsOf(open(patchUnityBundle(sampleBundle({ compression }), EDITS).bytes)),
      );
      expect(methods).toEqual([[0], [2], [3], [2]]);
      const noise = writeBundle([
        {
          name: 'CAB-one',
          bytes: writeSerializedFile({
            version: 22,
            objects: [
              sampleTextAsset(2n, 'story', '{"text":"物語"}\n'),
              sampleTextAsset(5n, 'noise', createRandom(3).bytes(400_000)),
              sampleTextAsset(6n, 'text', '同じ'.repeat(100_000)),
            ],
          }),
        },
      ]);
      const edits = new Map([...EDITS].filter(([pathId]) => pathId === 2n));
      expect(methodsOf(open(patchUnityBundle(noise, edits).bytes))).toEqual([0, 2]);
    });

    it('moves all files behind a changed one by a multiple of 16', () => {
      const before = sampleBundle();
      const [old, now] = [open(before), open(patchUnityBundle(before, EDITS).bytes)];
      const shifts = old.nodes.map(({ offset }, index) => (now.nodes[index]?.offset ?? 0) - offset);
      expect(shifts[0]).toBe(0);
      expect(shifts[1]).toBeGreaterThan(0);
      expect(shifts.map((shift) => shift % 16)).toEqual([0, 0, 0]);
    });

    it('keeps bytes behind the bundle', () => {
      const before = Buffer.concat([sampleBundle(), Buffer.from('signature')]);
      const patched = patchUnityBundle(before, EDITS);
      expect(patched.bytes.subarray(-9).toString()).toBe('signature');
      expect(open(patched.bytes).header.fileSize).toBe(patched.bytes.length - 9);
      expect(patched.size).toBe(patched.bytes.length);
    });

    it('names the content: the same texts have the same hash in every compression, others another one', () => {
      const hashes = COMPRESSIONS.map((compression) => {
        const { contentHash } = patchUnityBundle(sampleBundle({ compression }), EDITS);
        return Buffer.from(contentHash).toString('hex');
      });
      expect(new Set(hashes).size).toBe(1);
      expect(hashes[0]).toMatch(/^[0-9a-f]{32}$/);
      const other = patchUnityBundle(sampleBundle(), new Map([...EDITS].slice(1)));
      expect(Buffer.from(other.contentHash).toString('hex')).not.toBe(hashes[0]);
    });

    it('states no CRC where the files do not fill the data in their order', () => {
      const before = sampleBundle({ compression: 'none' });
      const { nodes, header } = open(before);
      const infoAt = header.headerBytes;
      const [first, second] = nodes;
      if (first === undefined || second === undefined) throw new Error('no nodes');
      // The first file loses its last byte, which belongs to no file then; the serialized file itself is the second one.
      const changed = Buffer.from(before);
      const at = infoAt + second.entryOffset;
      changed.writeBigInt64BE(BigInt(second.size - 1), at + 8);
      const patched = patchUnityBundle(changed, EDITS);
      expect(patched.crc32).toBe(null);
      const now = open(patched.bytes);
      expect(nodeBytes(now).get('CAB-one.resS')?.equals(RESOURCE.subarray(0, -1))).toBe(true);
      expect(textLines(patched.bytes).join()).toContain('{0} stones');
    });

    it('refuses files that overlap, and a damaged block that would be copied', () => {
      const before = sampleBundle({ compression: 'none' });
      const { nodes, header } = open(before);
      const [first, , last] = nodes;
      if (first === undefined || last === undefined) throw new Error('no nodes');
      const overlapping = Buffer.from(before);
      overlapping.writeBigInt64BE(1n, header.headerBytes + last.entryOffset);
      expect(() => patchUnityBundle(overlapping, EDITS)).toThrow(FormatError);
      const large = largeBundle();
      const block = open(large).blocks.at(-2);
      if (block === undefined) throw new Error('no block');
      large.fill(0xff, block.offset, block.offset + 40);
      expect(() => patchUnityBundle(large, EDITS)).toThrow(FormatError);
    });
  });

  describe('the blocks of a patched bundle', () => {
    it.each(['lz4', 'lz4hc'] as const)('are copied where nothing changed: %s', (compression) => {
      const before = largeBundle(compression);
      const patched = patchUnityBundle(before, EDITS);
      const [old, now] = [open(before), open(patched.bytes)];
      const copied = old.blocks.slice(1);
      const tail = now.blocks.slice(-copied.length);
      for (const [index, block] of copied.entries()) {
        const same = tail[index];
        if (same === undefined) throw new Error('no block');
        expect([same.size, same.flags]).toEqual([block.size, block.flags]);
        expect(
          patched.bytes
            .subarray(same.offset, same.offset + same.compressedSize)
            .equals(before.subarray(block.offset, block.offset + block.compressedSize)),
        ).toBe(true);
      }
      expect(now.blocks.length - old.blocks.length).toBeLessThanOrEqual(1);
      expect(new Set(now.blocks.slice(0, -1).map(({ size }) => size))).toEqual(new Set([128 * 1024]));
    });

    it('keep the size that the build script chose', () => {
      const before = sampleBundle({ blockBytes: 8192 });
      const { blocks } = open(patchUnityBundle(before, EDITS).bytes);
      expect(new Set(blocks.slice(0, -1).map(({ size }) => size))).toEqual(new Set([8192]));
    });

    it('have the usual size where all of them are new', () => {
      const now = open(patchUnityBundle(largeBundle('lzma', 300_000), EDITS).bytes);
      expect(now.blocks.length).toBeGreaterThan(4);
      expect(new Set(now.blocks.slice(0, -1).map(({ size }) => size))).toEqual(new Set([128 * 1024]));
    });

    it('are the same when the bundle is read a second time', () => {
      const source = bytesSource(largeBundle());
      const bundle = openBundle(source, READ_LIMITS);
      const patch = patchBundle(source, bundle, new Map());
      const [first, second] = [Buffer.concat([...patch.chunks()]), Buffer.concat([...patch.chunks()])];
      expect(first.equals(second)).toBe(true);
      expect(first.length).toBe(patch.size);
    });

    it('are the same when they are not kept but compressed again', () => {
      const source = bytesSource(largeBundle('lzma', 300_000));
      const bundle = openBundle(source, READ_LIMITS);
      const [all, some] = [Infinity, 200_000].map((keptBytes) =>
        Buffer.concat([...patchBundle(source, bundle, new Map(), { keptBytes }).chunks()]),
      );
      expect(all?.equals(some ?? Buffer.alloc(0))).toBe(true);
    });
  });

  describe('a damaged bundle', () => {
    it('is refused, or patched so that all texts read back and all files are as they were', () => {
      let patched = 0;
      const count = campaignSize(200, 10_000);
      for (const compression of ['none', 'lz4'] as const) {
        const whole = sampleBundle({ compression, blockBytes: 4096, infoAtEnd: compression === 'lz4' });
        for (const damaged of mutations(whole, { seed: SEED, count })) {
          const before = tryRead(damaged);
          if (before === null) continue;
          try {
            const { bytes } = patchUnityBundle(damaged, EDITS);
            const after = textsOfBundle(bytes).texts.map(({ text }) => text);
            expect(after).toEqual(before.map((text) => TRANSLATED.get(text) ?? text));
            patched += 1;
          } catch (error) {
            if (!(error instanceof FormatError) && !(error instanceof PatchError)) throw error;
          }
        }
      }
      expect(patched).toBeGreaterThan(20);
    });
  });
});
