import { describe, expect, test } from 'vitest';
import {
  createVersionCounter,
  lastPossibleVersion,
  RESERVED_VERSIONS,
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
  test('reserves versions before it gives the first version, and gives the rest back', () => {
    const { versions, reserved } = counter();
    expect(() => versions.next()).toThrow('recovery');
    versions.continueFrom({ database: 5, volume: 5, otherWriter: false });
    expect([versions.next(), versions.next()]).toEqual([6, 7]);
    expect(reserved).toEqual([6 + RESERVED_VERSIONS]);
    versions.release();
    expect(reserved).toEqual([6 + RESERVED_VERSIONS, 7]);
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

  test('ninety crashes in a row on a volume that cannot be written leave safe versions to issue', () => {
    const issued: number[] = [];
    let database = 5;
    for (let crash = 0; crash < 90; crash += 1) {
      const { versions, reserved } = counter();
      versions.continueFrom({ database, volume: 5, otherWriter: false });
      for (let renewal = 0; renewal < 3; renewal += 1) {
        const version = versions.next();
        expect(versions.isSafe(version)).toBe(true);
        issued.push(version);
      }
      // Without a release, the next process continues after the reservation.
      database = reserved.at(-1) ?? database;
    }
    expect(new Set(issued).size).toBe(270);
  });
});
