import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unitIdBytes, unitIdText } from '../../../../../src/daemon/parse/index/unit-id-text.ts';

describe('the text of a unit id', () => {
  // RFC 4648 section 10, in lower case and without padding.
  it.each([
    ['f', 'my'],
    ['fo', 'mzxq'],
    ['foo', 'mzxw6'],
    ['foob', 'mzxw6yq'],
    ['fooba', 'mzxw6ytb'],
    ['foobar', 'mzxw6ytboi'],
  ])('is base32: %s', (bytes, text) => {
    expect(unitIdText(Buffer.from(bytes))).toBe(`tu1_${text}`);
  });

  it('has 26 characters behind its prefix', () => {
    expect(unitIdText(Buffer.alloc(16, 0xff))).toBe(`tu1_${'7'.repeat(25)}4`);
  });

  it('property: gives its bytes back', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        expect(unitIdBytes(unitIdText(bytes))).toEqual(Uint8Array.from(bytes));
      }),
    );
  });

  it.each([
    '',
    'tu1_',
    `tu1_${'a'.repeat(25)}`,
    `tu1_${'a'.repeat(25)}b`,
    `tu1_${'A'.repeat(26)}`,
    'a'.repeat(26),
  ])('is not %j', (text) => {
    expect(unitIdBytes(text)).toBeNull();
  });
});
