import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  beginsZlib,
  compressLike,
  compressedHeader,
  decompress,
} from '../../../src/formats/gzip/compressed-file.ts';
import { createRandom } from '../../../demo/game/seeded-random.ts';
import { READ_LIMITS } from '../../../src/formats/value-visitor.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';
import { formatErrorOf } from '../../support/value-recorder.ts';

const CONTENT = Buffer.from('むかしむかし、あるところに。\n'.repeat(50));
/** A header with every field: extra, name, comment and checksum. */
const HEADER = Buffer.concat([
  Buffer.of(0x1f, 0x8b, 8, 0x1e, 1, 2, 3, 4, 2, 3, 2, 0, 0xaa, 0xbb),
  Buffer.from('名前\0comment\0'),
  Buffer.of(0, 0),
]);

describe('a compressed file', () => {
  it.each(['gzip', 'zlib'] as const)('gives its content, and is written with the same header: %s', (kind) => {
    const official = kind === 'gzip' ? gzipSync(CONTENT) : deflateSync(CONTENT, { level: 9 });
    expect(decompress(official, kind, READ_LIMITS).equals(CONTENT)).toBe(true);
    const other = Buffer.from('Once upon a time.');
    const written = compressLike(official, kind, other, READ_LIMITS);
    expect((kind === 'gzip' ? gunzipSync(written) : inflateSync(written)).equals(other)).toBe(true);
    expect(written.subarray(0, 2).equals(official.subarray(0, 2))).toBe(true);
    expect(compressLike(official, kind, other, READ_LIMITS).equals(written)).toBe(true);
  });

  it('keeps every field of a header of gzip', () => {
    const official = Buffer.concat([HEADER, gzipSync(CONTENT).subarray(10)]);
    expect(compressedHeader(official, 'gzip').equals(HEADER)).toBe(true);
    expect(
      compressLike(official, 'gzip', CONTENT, READ_LIMITS).subarray(0, HEADER.length).equals(HEADER),
    ).toBe(true);
    expect(formatErrorOf(() => compressedHeader(HEADER.subarray(0, 20), 'gzip'))?.code).toBe(
      'compression_invalid',
    );
  });

  it.each([8, 9, 12, 15])('keeps a window of 2^%i bytes', (bits) => {
    const content = createRandom(34).bytes(1000);
    const official = deflateSync(CONTENT, { windowBits: Math.max(9, bits) });
    // zlib reads such a header and writes none.
    if (bits === 8) official.writeUInt16BE(0x0899);
    const written = compressLike(official, 'zlib', Buffer.concat(Array(8).fill(content)), READ_LIMITS);
    expect(written.readUInt16BE()).toBe(official.readUInt16BE());
    expect(inflateSync(written, { windowBits: bits }).length).toBe(8000);
  });

  it.each(['gzip', 'zlib'] as const)('is written so that it can be read again: %s', (kind) => {
    const content = Buffer.alloc(200_000, 'あ');
    const official = kind === 'gzip' ? gzipSync(CONTENT, { level: 1 }) : deflateSync(CONTENT);
    const limits = { ...READ_LIMITS, ratio: 100 };
    const written = compressLike(official, kind, content, limits);
    expect(decompress(written, kind, limits).equals(content)).toBe(true);
  });

  it('refuses a bomb, damage, several files and bytes behind the file', () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    expect(formatErrorOf(() => decompress(bomb, 'gzip', READ_LIMITS))?.code).toBe('container_limit_exceeded');
    const file = gzipSync(CONTENT);
    const damaged = [
      file.subarray(0, 30),
      Buffer.concat([file, file]),
      Buffer.concat([file, Buffer.from('x')]),
    ];
    for (const each of damaged) {
      expect(formatErrorOf(() => decompress(each, 'gzip', READ_LIMITS))?.code).toBe('compression_invalid');
    }
  });

  it('tells zlib by its beginning', () => {
    expect(beginsZlib(deflateSync(CONTENT))).toBe(true);
    expect(beginsZlib(deflateSync(CONTENT).subarray(0, 40))).toBe(true);
    expect(beginsZlib(Buffer.from('x\u0001 text begins like this'))).toBe(false);
    expect(beginsZlib(Buffer.of(0x78, 0x9c, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff))).toBe(false);
  });

  it.each(['gzip', 'zlib'] as const)('reads or refuses every damaged file: %s', (kind) => {
    const file = kind === 'gzip' ? gzipSync(CONTENT) : deflateSync(CONTENT);
    const codes = new Set<string>();
    for (const damaged of mutations(file, { seed: 34, count: campaignSize(1000, 20_000) })) {
      codes.add(formatErrorOf(() => decompress(damaged, kind, READ_LIMITS))?.code ?? 'read');
    }
    const expected = new Set(['read', 'compression_invalid', 'container_limit_exceeded']);
    expect(codes.isSubsetOf(expected)).toBe(true);
    expect(codes).toContain('compression_invalid');
  });
});
