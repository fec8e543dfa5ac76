import { describe, expect, test } from 'vitest';
import {
  createVersionCounter,
  lastPossibleVersion,
  VERSION_BLOCK,
} from '../../../../../src/daemon/releases/attest/version-counter.ts';
import { createSilentLogger } from '../../../../../src/platform/logging/logging.ts';

describe('the last version that an earlier process may have issued', () => {
  test.each([
    ['a new store', { database: null, volume: 0, otherWriter: false }, 0],
    ['a database that stored everything', { database: 7, volume: 7, otherWriter: false }, 7],
    ['a volume that lags', { database: 9, volume: 4, otherWriter: false }, 9],
    ['a lost database', { database: null, volume: 4, otherWriter: false }, 4 + VERSION_BLOCK],
    ['an older database', { database: 3, volume: 4, otherWriter: false }, 4 + VERSION_BLOCK],
    ['another writer', { database: 9, volume: 4, otherWriter: true }, 9 + VERSION_BLOCK],
    ['another writer without an envelope', { database: null, volume: 0, otherWriter: true }, VERSION_BLOCK],
  ])('%s', (_title, earlier, last) => {
    expect(lastPossibleVersion(earlier)).toBe(last);
  });
});

function counter() {
  let broken = false;
  const reserved: number[] = [];
  const versions = createVersionCounter({
    storeId: 'store',
    logger: createSilentLogger(),
    attestations: {
      reserve: (_store, upTo) => {
        if (broken) throw new Error('database or disk is full');
        reserved.push(upTo);
      },
    },
  });
  return { versions, reserved, fail: () => (broken = true) };
}

describe('the version counter', () => {
  test('reserves a block before it gives the first version, and gives the rest back', () => {
    const { versions, reserved } = counter();
    expect(() => versions.next()).toThrow('recovery');
    versions.continueFrom({ database: 5, volume: 5, otherWriter: false });
    expect([versions.next(), versions.next()]).toEqual([6, 7]);
    expect(reserved).toEqual([6 + VERSION_BLOCK]);
    versions.release();
    expect(reserved).toEqual([6 + VERSION_BLOCK, 7]);
  });

  test('a version that is reserved nowhere is not safe', () => {
    const { versions, fail } = counter();
    fail();
    versions.continueFrom({ database: 5, volume: 5, otherWriter: false });
    expect(versions.isSafe(versions.next())).toBe(false);
  });

  test('a version that is a block ahead of the volume is not safe', () => {
    const { versions } = counter();
    versions.continueFrom({ database: VERSION_BLOCK, volume: 1, otherWriter: false });
    expect(versions.isSafe(versions.next())).toBe(true);
    expect(versions.isSafe(versions.next())).toBe(false);
    versions.noteOnVolume(VERSION_BLOCK);
    expect(versions.isSafe(versions.next())).toBe(true);
  });
});
