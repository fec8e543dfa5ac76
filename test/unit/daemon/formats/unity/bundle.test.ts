import { describe, expect, it } from 'vitest';
import { writeBundle } from '../../../../../src/cli/dev/demo/unity/write-bundle.ts';
import { bytesSource } from '../../../../../src/daemon/formats/byte-source.ts';
import { type Bundle, openBundle } from '../../../../../src/daemon/formats/unity/bundle.ts';
import { isUnityBundle } from '../../../../../src/daemon/formats/unity/bundle-header.ts';
import { READ_LIMITS } from '../../../../../src/daemon/formats/value-visitor.ts';
import { createRandom } from '../../../../../src/cli/dev/seeded-random.ts';

const FILES = [
  { name: 'CAB-one', bytes: Buffer.from('物語の始まり。'.repeat(5000)) },
  { name: 'CAB-one.resS', bytes: createRandom(5).bytes(70_000), flags: 0 },
  { name: 'empty', bytes: Buffer.alloc(0) },
];
const COMPRESSIONS = ['none', 'lz4', 'lz4hc', 'lzma'] as const;

function open(bytes: Buffer, limits = READ_LIMITS): Bundle {
  return openBundle(bytesSource(bytes), limits);
}

/** Where the fields stand in a bundle of {@link writeBundle}. */
const HEADER = { version: 8, size: 30, infoCompressedBytes: 38, infoBytes: 42, flags: 46 };

/** A bundle with some header fields changed. */
function changed(change: (bytes: Buffer) => void, options = {}): Buffer {
  const bytes = writeBundle(FILES, { compression: 'none', ...options });
  change(bytes);
  return bytes;
}

describe('openBundle', () => {
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
