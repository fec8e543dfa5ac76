import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { countNoun } from '../../../src/domain/count-noun.ts';
import {
  BLOCK_BYTES,
  blockBytesOf,
  blockCount,
  hasBlockList,
  SINGLE_BLOCK_MAX_BYTES,
} from '../../../src/domain/release/blocks.ts';
import {
  isBlake3Hex,
  isCrc64Decimal,
  manifestDigestOf,
  snapshotIdOf,
} from '../../../src/domain/release/digest.ts';
import { parseReleaseId } from '../../../src/domain/release/release-id.ts';
import { triedBody } from '../../../src/domain/release/tried-body.ts';

const HEX = '0123456789abcdef'.repeat(4);

describe('a digest', () => {
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
      fc.nat(20 * SINGLE_BLOCK_MAX_BYTES),
      fc.constantFrom(
        0,
        1,
        BLOCK_BYTES,
        BLOCK_BYTES + 1,
        SINGLE_BLOCK_MAX_BYTES,
        SINGLE_BLOCK_MAX_BYTES + 1,
        3 * SINGLE_BLOCK_MAX_BYTES,
      ),
    );
    fc.assert(
      fc.property(size, (bytes) => {
        const count = blockCount(bytes);
        expect(hasBlockList(bytes)).toBe(count > 1);
        expect(count * blockBytesOf(bytes)).toBeGreaterThanOrEqual(bytes);
        if (bytes > 0) expect((count - 1) * blockBytesOf(bytes)).toBeLessThan(bytes);
      }),
    );
  });
});

const RESULT = { dry_run: true, rolled_back_release_id: 'l2', localized_release_id: 'l1' };

describe('the body of an action that was tried', () => {
  it('names the release that the dry run of a rollback takes back', () => {
    expect(triedBody('localized-rollback', { reason: 'x' }, RESULT)).toEqual({
      reason: 'x',
      args: ['from=l2'],
    });
    expect(triedBody('localized-rollback', { args: ['dry_run=false'] }, RESULT)).toEqual({
      args: ['dry_run=false', 'from=l2'],
    });
  });

  it.each<[string, object, Record<string, unknown>]>([
    ['localized-rollback', { args: ['from=l3'] }, RESULT],
    ['localized-rollback', {}, { dry_run: true }],
    ['release-cleanup', {}, RESULT],
  ])('of %s with %j stays', (action, body, result) => {
    expect(triedBody(action, body, result)).toBe(body);
  });
});

describe('the count of a task', () => {
  it('is the noun of what a task did, and nothing for sizes and times', () => {
    expect(countNoun('built_containers', 2)).toBe('built containers');
    expect(countNoun('replaced_entries', 1n)).toBe('replaced entry');
    expect(countNoun('units', 1)).toBe('unit');
    for (const name of ['total_bytes', 'created_at', 'entry_count', 'coverage', 'attestation_version']) {
      expect(countNoun(name, 1)).toBeNull();
    }
  });
});
