import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs } from '../../../../src/platform/process/backoff.ts';
import { createStoreLock } from '../../../../src/daemon/tasks/store-lock.ts';
import { taskDedupeKey } from '../../../../src/daemon/tasks/task-identity.ts';

describe('the wait between attempts', () => {
  const options = { baseMs: 1000, capMs: 60_000 };

  it('doubles, half of it fixed and half of it jitter', () => {
    expect([1, 2, 3].map((attempt) => backoffMs(attempt, options, 0, null))).toEqual([500, 1000, 2000]);
    expect([1, 2, 3].map((attempt) => backoffMs(attempt, options, 0.5, null))).toEqual([750, 1500, 3000]);
  });

  it('stays within its bounds for every attempt, and honours a requested delay of up to an hour', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.option(fc.integer({ min: -5, max: 10_000_000 })),
        (attempt, random, retryAfterMs) => {
          const wait = backoffMs(attempt, options, random, retryAfterMs);
          expect(wait).toBeGreaterThanOrEqual(Math.max(500, Math.min(retryAfterMs ?? 0, 3_600_000)));
          expect(wait).toBeLessThanOrEqual(Math.max(60_000, Math.min(retryAfterMs ?? 0, 3_600_000)));
        },
      ),
    );
  });
});

describe('the identity of a task', () => {
  it('depends on values, not on the order of members', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (args) => {
        const reversed = Object.fromEntries(Object.entries(args).toReversed());
        expect(taskDedupeKey('sync', reversed)).toBe(taskDedupeKey('sync', args));
        expect(taskDedupeKey('verify', args)).not.toBe(taskDedupeKey('sync', args));
      }),
    );
    expect(taskDedupeKey('sync', { n: 1 })).not.toBe(taskDedupeKey('sync', { n: '1' }));
    expect(taskDedupeKey('sync', { n: undefined })).toBe(taskDedupeKey('sync', {}));
  });
});

describe('the store lock', () => {
  it('is shared by many or held exclusively by one, and is released once', () => {
    const lock = createStoreLock();
    const first = lock.acquire('shared');
    const second = lock.acquire('shared');
    expect(() => lock.acquire('exclusive')).toThrow(/cannot be acquired/);
    first();
    first();
    expect(lock.state()).toEqual({ shared: 1, exclusive: false });
    second();
    const alone = lock.acquire('exclusive');
    expect(() => lock.acquire('shared')).toThrow(/cannot be acquired/);
    lock.acquire('none')();
    alone();
    expect(lock.state()).toEqual({ shared: 0, exclusive: false });
  });
});
