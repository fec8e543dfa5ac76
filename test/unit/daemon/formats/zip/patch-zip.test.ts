import { crc32, deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../../../src/cli/dev/seeded-random.ts';
import { bytesSource, type ByteSource } from '../../../../../src/daemon/formats/byte-source.ts';
import { FormatError } from '../../../../../src/daemon/formats/format-error.ts';
import {
  joinPieces,
  pieceChunks,
  type OutputPiece,
} from '../../../../../src/daemon/formats/patch/output-pieces.ts';
import { PatchError } from '../../../../../src/daemon/formats/patch/patch-error.ts';
import { READ_LIMITS } from '../../../../../src/daemon/formats/value-visitor.ts';
import { openZip } from '../../../../../src/daemon/formats/zip/open-zip.ts';
import { patchZip, type PatchZipOptions } from '../../../../../src/daemon/formats/zip/patch-zip.ts';
import { encryptZipEntry } from '../../../../support/encrypt-zip-entry.ts';
import { mutations } from '../../../../support/mutate.ts';
import { patchErrorOf } from '../../../../support/random-edits.ts';
import { writeZip, type ZipInput } from '../../../../support/write-zip.ts';

const PASSWORD = Buffer.from('秘密');
const CONTENT = Buffer.from('the content of an entry, again: the content of an entry');
const OPTIONS: PatchZipOptions = { passwordOf: () => PASSWORD };

function uint(bytes: 4 | 8, ...values: number[]): Buffer {
  const written = Buffer.alloc(bytes * values.length);
  for (const [index, value] of values.entries()) {
    if (bytes === 4) written.writeUInt32LE(value, 4 * index);
    else written.writeBigUInt64LE(BigInt(value), 8 * index);
  }
  return written;
}

const DEFLATED = deflateRawSync(CONTENT);
const SIZES = [DEFLATED.length, CONTENT.length] as const;
const described = (name: string, descriptor: Buffer): ZipInput => ({
  name,
  content: CONTENT,
  flags: 0x08_08,
  local: { crc32: 0, compressedSize: 0 },
  descriptor,
});

const INPUTS: readonly ZipInput[] = [
  {
    name: 'stored.txt',
    content: CONTENT,
    method: 0,
    extra: Buffer.from('55540500030000000000', 'hex').subarray(0, 9),
  },
  { name: 'folder/', content: Buffer.alloc(0), method: 0 },
  { name: 'deflated.txt', content: CONTENT, comment: 'a comment', descriptor: Buffer.from('gap!') },
  described('short.txt', Buffer.concat([uint(4, crc32(CONTENT)), uint(4, ...SIZES)])),
  described('signed.txt', Buffer.concat([uint(4, 0x08_07_4b_50, crc32(CONTENT)), uint(4, ...SIZES)])),
  described('long.txt', Buffer.concat([uint(4, 0x08_07_4b_50, crc32(CONTENT)), uint(8, ...SIZES)])),
  encryptZipEntry('encrypted.txt', CONTENT, PASSWORD),
  {
    name: 'zip64.txt',
    content: CONTENT,
    compressedSize: 0xff_ff_ff_ff,
    uncompressedSize: 0xff_ff_ff_ff,
    extra: Buffer.concat([Buffer.of(1, 0, 16, 0), uint(8, SIZES[1], SIZES[0])]),
  },
];
const ARCHIVE = writeZip(INPUTS, { comment: 'of the archive' });
const NAMES = INPUTS.map(({ name }) => String(name)).filter((name) => !name.endsWith('/'));

function contentsOf(source: ByteSource): Map<string, string> {
  const archive = openZip(source, READ_LIMITS);
  return new Map(
    archive.entries.map((entry) => [entry.name, archive.readEntry(entry, PASSWORD).toString('latin1')]),
  );
}

function rawOf(bytes: Buffer, name: string): Buffer {
  const archive = openZip(bytesSource(bytes), READ_LIMITS);
  const entry = archive.entries.find((each) => each.name === name);
  if (entry === undefined) throw new Error(`no entry ${name}`);
  const { start, end } = archive.locate(entry);
  return bytes.subarray(start, end);
}

function patch(bytes: Buffer, contents: ReadonlyMap<string, Uint8Array>, options = OPTIONS): Buffer {
  const patches = new Map([...contents].map(([name, content]) => [name, () => content]));
  return joinPieces(patchZip(bytesSource(bytes), patches, options));
}

describe('patchZip', () => {
  it('writes the same bytes when nothing is patched', () => {
    expect(patch(ARCHIVE, new Map()).equals(ARCHIVE)).toBe(true);
    expect(patch(writeZip([]), new Map()).equals(writeZip([]))).toBe(true);
  });

  it.for(NAMES)('replaces %s in its own form, and keeps all other bytes', (name) => {
    const content = Buffer.from('new '.repeat(50));
    const patched = patch(ARCHIVE, new Map([[name, content]]));
    const expected = contentsOf(bytesSource(ARCHIVE)).set(name, content.toString());
    expect(contentsOf(bytesSource(patched))).toEqual(expected);
    for (const other of NAMES.filter((each) => each !== name)) {
      expect(rawOf(patched, other).equals(rawOf(ARCHIVE, other))).toBe(true);
    }
    const [before, after] = [ARCHIVE, patched].map((bytes) =>
      openZip(bytesSource(bytes), READ_LIMITS).entries.map(({ name: each, method, flags, modifiedTime }) => [
        each,
        method,
        flags,
        modifiedTime,
      ]),
    );
    expect(after).toEqual(before);
    expect(patched.subarray(-14).toString()).toBe('of the archive');
    expect(patch(ARCHIVE, new Map([[name, content]])).equals(patched)).toBe(true);
    const changedBack = patch(patched, new Map([[name, CONTENT]]));
    // The compression and the encryption of the original are those of another program.
    if (name !== 'encrypted.txt')
      expect(contentsOf(bytesSource(changedBack))).toEqual(contentsOf(bytesSource(ARCHIVE)));
  });

  it('keeps the bytes before the archive and between entries', () => {
    const shifted = Buffer.concat([Buffer.from('#!/bin/sh\n'), ARCHIVE]);
    const patched = patch(
      shifted,
      new Map([
        ['stored.txt', Buffer.from('x')],
        ['deflated.txt', Buffer.from('y')],
      ]),
    );
    expect(patched.subarray(0, 10).toString()).toBe('#!/bin/sh\n');
    expect(contentsOf(bytesSource(patched)).get('zip64.txt')).toBe(CONTENT.toString());
    expect(rawOf(patched, 'deflated.txt').subarray(-4).toString()).toBe('gap!');
  });

  it('encrypts with a header that depends on the content alone', () => {
    const [one, two] = ['one', 'two'].map((text) =>
      patch(ARCHIVE, new Map([['encrypted.txt', Buffer.from(text)]])),
    );
    const headers = [one, two].map((bytes) =>
      rawOf(bytes ?? ARCHIVE, 'encrypted.txt').subarray(30 + 13, 30 + 13 + 12),
    );
    expect(headers[0]).not.toEqual(headers[1]);
    expect(patchErrorOf(() => patch(ARCHIVE, new Map([['none', CONTENT]])))).toEqual({
      code: 'place_not_found',
      fieldPath: 'none',
    });
    expect(() => patch(ARCHIVE, new Map([['encrypted.txt', CONTENT]]), {})).toThrow('no password');
  });

  it('compresses less what would look like a bomb', () => {
    const zeros = Buffer.alloc(4_000_000);
    const patched = patch(ARCHIVE, new Map([['deflated.txt', zeros]]));
    expect(contentsOf(bytesSource(patched)).get('deflated.txt')?.length).toBe(zeros.length);
    const limits = { ...READ_LIMITS, entryBytes: 1000 };
    expect(
      patchErrorOf(() => patch(ARCHIVE, new Map([['stored.txt', zeros]]), { ...OPTIONS, limits }))?.code,
    ).toBe('file_too_large');
  });

  it('moves offsets beyond 4 GiB into ZIP64, in an archive that had none', () => {
    const inputs: ZipInput[] = [
      { name: 'a', content: CONTENT, method: 0 },
      { name: 'b', content: CONTENT, comment: 'of b' },
    ];
    const dense = writeZip(inputs);
    const second = openZip(bytesSource(dense), READ_LIMITS).entries[1]?.localOffset ?? 0;
    const gap = 2 ** 32 - 300 - second;
    const moved = inputs.map((input, at) => (at === 1 ? { ...input, localOffset: second + gap } : input));
    const directory = openZip(bytesSource(dense), READ_LIMITS).directory.start + gap;
    const tail = writeZip(moved, { offset: directory }).subarray(second);
    // The gap is zeros that exist only when they are read.
    const sparse = sourceOf([
      { source: bytesSource(dense), offset: 0, length: second },
      { source: { size: gap, read: (_offset, length) => Buffer.alloc(length) }, offset: 0, length: gap },
      { source: bytesSource(tail), offset: 0, length: tail.length },
    ]);
    const content = Buffer.alloc(5000, 'grown');
    const patched = sourceOf([...patchZip(sparse, new Map([['a', () => content]]))]);
    const archive = openZip(patched, READ_LIMITS);
    expect(archive.directory.zip64End).not.toBe(null);
    expect(archive.entries[1]?.localOffset).toBeGreaterThan(2 ** 32);
    expect([...contentsOf(patched).values()]).toEqual([content.toString(), CONTENT.toString()]);
    // And back, which leaves the ZIP64 records with smaller values.
    const back = sourceOf([...patchZip(patched, new Map([['a', () => CONTENT]]))]);
    expect([...contentsOf(back).values()]).toEqual([CONTENT.toString(), CONTENT.toString()]);
  });

  it('copies entries in chunks', () => {
    const large = Buffer.alloc(8 * 1024 * 1024, 'large');
    const archive = writeZip([
      { name: 'large', content: large, method: 0 },
      { name: 'small', content: CONTENT },
    ]);
    const patches = new Map([['small', () => Buffer.from('s')]]);
    const sizes = Array.from(pieceChunks(patchZip(bytesSource(archive), patches)), ({ length }) => length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1024 * 1024);
  });

  it('reads back exactly, whatever is patched', () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const random = createRandom(seed);
      const contents = new Map(
        NAMES.filter(() => random.below(2) === 0).map((name) => [
          name,
          random.bytes(random.pick([0, 1, 100, 70_000])),
        ]),
      );
      const expected = contentsOf(bytesSource(ARCHIVE));
      for (const [name, content] of contents) expected.set(name, content.toString('latin1'));
      expect(contentsOf(bytesSource(patch(ARCHIVE, contents)))).toEqual(expected);
    }
  });

  it('refuses damaged archives, or changes only the patched entry', () => {
    let patchedArchives = 0;
    for (const damaged of mutations(ARCHIVE, { seed: 1, count: 1000 })) {
      try {
        const patched = patch(damaged, new Map([['deflated.txt', Buffer.from('new content')]]));
        const [before, after] = [damaged, patched].map((bytes) => readable(bytes));
        expect(after).toEqual(before?.set('deflated.txt', 'new content'));
        patchedArchives += 1;
      } catch (error) {
        if (!(error instanceof FormatError || error instanceof PatchError)) throw error;
      }
    }
    expect(patchedArchives).toBeGreaterThan(20);
  });
});

/** The contents of the entries that can be read. */
function readable(bytes: Buffer): Map<string, string> {
  const archive = openZip(bytesSource(bytes), READ_LIMITS);
  return new Map(
    archive.entries.flatMap((entry): [string, string][] => {
      try {
        return [[entry.name, archive.readEntry(entry, PASSWORD).toString('latin1')]];
      } catch (error) {
        if (error instanceof FormatError) return [];
        throw error;
      }
    }),
  );
}

/** The bytes of pieces, without joining them. */
function sourceOf(pieces: readonly OutputPiece[]): ByteSource {
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  return {
    size,
    read: (offset, length) => {
      const parts: Buffer[] = [];
      let start = 0;
      for (const piece of pieces) {
        const from = Math.max(offset, start);
        const to = Math.min(offset + length, start + piece.length);
        if (from < to) parts.push(piece.source.read(piece.offset + from - start, to - from));
        start += piece.length;
      }
      return Buffer.concat(parts);
    },
  };
}
