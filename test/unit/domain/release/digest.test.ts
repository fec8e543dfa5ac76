import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  blockCount,
  blockOf,
  BLOCK_SIZE,
  blockSpan,
  hasBlockList,
} from '../../../../src/domain/release/blocks.ts';
import {
  isBlake3Hex,
  isCrc64Decimal,
  manifestDigestOf,
  snapshotIdOf,
} from '../../../../src/domain/release/digest.ts';
import { parseReleaseId } from '../../../../src/domain/release/release-id.ts';

const HEX = '0123456789abcdef'.repeat(4);

test('a BLAKE3 digest is 64 lower-case hexadecimal digits', () => {
  expect(isBlake3Hex(HEX)).toBe(true);
  for (const text of [
    '',
    HEX.slice(1),
    `${HEX}0`,
    HEX.toUpperCase(),
    `${HEX.slice(1)}g`,
    `${HEX}\n`,
    ` ${HEX.slice(1)}`,
  ]) {
    expect(isBlake3Hex(text), JSON.stringify(text)).toBe(false);
  }
});

test.each([
  ['0', true],
  ['11051210869376104954', true],
  ['18446744073709551615', true],
  ['18446744073709551616', false],
  ['99999999999999999999', false],
  ['00', false],
  ['01', false],
  ['-1', false],
  ['1.0', false],
  ['1e3', false],
  ['0x1', false],
  ['', false],
  [' 1', false],
  ['1\n', false],
])('%j as CRC-64: %s', (text, expected) => {
  expect(isCrc64Decimal(text)).toBe(expected);
});

test('only a snapshot id gives its digest back', () => {
  if (!isBlake3Hex(HEX)) throw new Error('not a digest');
  expect(manifestDigestOf(snapshotIdOf(HEX))).toBe(HEX);
  for (const text of [
    '',
    HEX,
    'blake3:',
    `sha256:${HEX}`,
    `blake3:${HEX}0`,
    `BLAKE3:${HEX}`,
    `blake3:blake3:${HEX}`,
  ]) {
    expect(manifestDigestOf(text), text).toBeNull();
  }
});

test.each([
  ['r', true],
  ['r77_abc.DEF-1', true],
  ['0', true],
  ['a'.repeat(128), true],
  ['a'.repeat(129), false],
  ['', false],
  ['.', false],
  ['..', false],
  ['.a', false],
  ['-a', false],
  ['a.', false],
  ['a/b', false],
  ['a b', false],
  ['a%2f', false],
  ['é', false],
  ['a\n', false],
])('%j as release id: %s', (text, expected) => {
  expect(parseReleaseId(text).ok).toBe(expected);
});

test('property: the blocks of an object cover it without gap or overlap', () => {
  const size = fc.oneof(
    fc.nat(20 * BLOCK_SIZE),
    fc.constantFrom(0, 1, BLOCK_SIZE - 1, BLOCK_SIZE, BLOCK_SIZE + 1, 3 * BLOCK_SIZE),
  );
  fc.assert(
    fc.property(size, (bytes) => {
      const count = blockCount(bytes);
      expect(hasBlockList(bytes)).toBe(count > 1);
      let position = 0;
      for (let block = 0; block < count; block += 1) {
        const { start, end } = blockSpan(block, bytes);
        expect(start).toBe(position);
        if (bytes > 0) {
          expect(end).toBeGreaterThan(start);
          expect(blockOf(start)).toBe(block);
          expect(blockOf(end - 1)).toBe(block);
        }
        position = end;
      }
      expect(position).toBe(bytes);
    }),
  );
});
