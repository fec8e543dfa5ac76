import { describe, expect, it } from 'vitest';
import { CP932 } from '../../../../../src/daemon/formats/text/cp932-encoding.ts';
import { decodeText } from '../../../../../src/daemon/formats/text/decode-text.ts';

const bytesOf = (character: string): number | null => CP932.bytesOf(character.codePointAt(0) ?? 0);

describe('CP932', () => {
  it('has the bytes of every character that decodes from it, and of no other', () => {
    const known = new Map<number, number>();
    const add = (...bytes: number[]): void => {
      try {
        const [character = '', ...rest] = decodeText(Uint8Array.from(bytes), 'cp932').text;
        if (rest.length === 0) known.set(character.codePointAt(0) ?? 0, bytes.length);
      } catch {
        // Not a character of the encoding.
      }
    };
    for (let first = 0; first < 0x100; first += 1) add(first);
    for (let first = 0x81; first <= 0xfc; first += 1) {
      for (let second = 0x40; second <= 0xfc; second += 1) add(first, second);
    }
    const differing: number[] = [];
    for (let codePoint = 0; codePoint <= 0x1_ffff; codePoint += 1) {
      if (CP932.bytesOf(codePoint) !== (known.get(codePoint) ?? null)) differing.push(codePoint);
    }
    expect(known.size).toBeGreaterThan(9000);
    expect(differing).toEqual([]);
  });

  it.each([
    ['a', 1],
    ['ｱ', 1],
    ['あ', 2],
    ['①', 2],
    ['髙', 2],
    ['们', null],
    ['€', null],
    ['😀', null],
  ] as const)('%s has %s bytes', (character, bytes) => {
    expect(bytesOf(character)).toBe(bytes);
  });
});
