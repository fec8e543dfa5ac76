import { describe, expect, it } from 'vitest';
import { createDigestSet } from '../../../../src/platform/hashing/digest-set.ts';
import { blake3OfText } from '../../../../src/platform/hashing/text-blake3.ts';

describe('a set of digests', () => {
  it('tells each digest that it has, also after it grew many times', () => {
    const set = createDigestSet();
    const digests = Array.from({ length: 20_000 }, (_, number) => blake3OfText(String(number)));
    expect(digests.filter((digest) => !set.add(digest))).toEqual([]);
    expect(digests.filter((digest) => set.add(digest))).toEqual([]);
  });

  it('tells digests apart that differ in one of the first 8 bytes, and keeps those that begin with zeros', () => {
    const set = createDigestSet();
    const zeros = new Uint8Array(16);
    expect([set.add(zeros), set.add(zeros)]).toEqual([true, false]);
    for (let byte = 0; byte < 8; byte += 1) {
      const other = new Uint8Array(16);
      other[byte] = 0x80;
      expect([set.add(other), set.add(other)]).toEqual([true, false]);
    }
  });

  it('reads a digest that is a part of a larger buffer', () => {
    const set = createDigestSet();
    const bytes = Uint8Array.from({ length: 32 }, (_, number) => number);
    expect(set.add(bytes.subarray(0, 16))).toBe(true);
    expect(set.add(bytes.subarray(16))).toBe(true);
    expect(set.add(bytes.slice(16))).toBe(false);
  });
});
