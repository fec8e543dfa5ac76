import { describe, expect, it } from 'vitest';
import { createRandom, type Random } from '../../../../../src/cli/dev/seeded-random.ts';
import { bytesSource } from '../../../../../src/daemon/formats/byte-source.ts';
import { type Splice, spliceSource } from '../../../../../src/daemon/formats/patch/spliced-source.ts';

function splice(offset: number, length: number, text: string): Splice {
  return { offset, length, bytes: Buffer.from(text) };
}

function randomSplices(random: Random, size: number): Splice[] {
  const splices: Splice[] = [];
  let at = random.below(20);
  while (at < size) {
    const length = Math.min(size - at, random.below(30));
    splices.push({ offset: at, length, bytes: random.bytes(random.below(40)) });
    at += length + random.pick([0, 1, 5, 500, 200_000]);
  }
  return splices;
}

/** The same, on the whole. */
function spliced(base: Buffer, splices: readonly Splice[]): Buffer {
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const { offset, length, bytes } of splices) {
    parts.push(base.subarray(at, offset), bytes);
    at = offset + length;
  }
  return Buffer.concat([...parts, base.subarray(at)]);
}

describe('spliceSource', () => {
  it('reads every range as if the bytes had been joined', () => {
    const random = createRandom(16);
    for (let round = 0; round < 30; round += 1) {
      const base = random.bytes(random.pick([0, 10, 1000, 300_000]));
      const splices = randomSplices(random, base.length);
      const expected = spliced(base, splices);
      const source = spliceSource(bytesSource(base), splices);
      expect(source.size).toBe(expected.length);
      expect(source.read(0, source.size).equals(expected)).toBe(true);
      for (let read = 0; read < 50 && expected.length > 0; read += 1) {
        const from = random.below(expected.length);
        const length = random.below(expected.length - from + 1);
        expect(source.read(from, length).equals(expected.subarray(from, from + length))).toBe(true);
      }
      for (const { from, to, length } of source.keptRanges()) {
        expect(expected.subarray(to, to + length).equals(base.subarray(from, from + length))).toBe(true);
      }
    }
  });

  it('inserts in front of, within and behind the bytes', () => {
    const source = spliceSource(bytesSource(Buffer.from('abc')), [
      splice(0, 0, '1'),
      splice(1, 1, '23'),
      splice(3, 0, '4'),
    ]);
    expect(source.read(0, source.size).toString()).toBe('1a23c4');
    expect([...source.keptRanges()]).toEqual([
      { from: 0, to: 1, length: 1 },
      { from: 2, to: 4, length: 1 },
    ]);
  });

  it('copies nothing where a range has no splice', () => {
    const base = Buffer.from('abcdef');
    const source = spliceSource(bytesSource(base), [splice(1, 1, 'xyz')]);
    expect(source.read(4, 3).buffer).toBe(base.buffer);
    expect(source.read(4, 3).toString()).toBe('cde');
  });

  it('refuses splices that overlap or do not fit, and ranges that do not', () => {
    const base = bytesSource(Buffer.from('abcdef'));
    expect(() => spliceSource(base, [splice(0, 3, ''), splice(2, 1, '')])).toThrow(RangeError);
    expect(() => spliceSource(base, [splice(5, 2, '')])).toThrow(RangeError);
    expect(() => spliceSource(base, [splice(0, 6, 'x')]).read(0, 2)).toThrow(RangeError);
  });
});
