import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { blake3OfText } from '../../../../src/platform/hashing/text-blake3.ts';

it('gives the digest of the bytes in UTF-8, for a text of any length', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 5000 }), (text) => {
      expect(Buffer.from(blake3OfText(text)).toString('hex')).toBe(blake3Hex(Buffer.from(text)));
    }),
  );
});

it('gives digests that later calls do not change', () => {
  const first = blake3OfText('第一話');
  const copy = first.slice();
  blake3OfText('第二話');
  expect(first).toEqual(copy);
});
