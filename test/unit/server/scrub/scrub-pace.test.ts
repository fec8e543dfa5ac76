import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { restAfter, ScrubPace } from '../../../../src/server/scrub/scrub-pace.ts';

test('property: neither the bytes per second nor the share of the time are exceeded, and load only slows down', () => {
  fc.assert(
    fc.property(
      fc.record({ bytes: fc.nat(2 ** 20), ms: fc.double({ min: 0, max: 100, noNaN: true }) }),
      fc.record({
        bytesPerSecond: fc.integer({ min: 65_536, max: 2 ** 30 }),
        share: fc.double({ min: 0.01, max: 1, noNaN: true }),
      }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (work, limits, load) => {
        const rest = restAfter(work, limits, 0);
        const seconds = (work.ms + rest) / 1000;
        expect(work.bytes).toBeLessThanOrEqual(limits.bytesPerSecond * seconds + 1);
        expect(work.ms).toBeLessThanOrEqual(limits.share * seconds * 1000 + 0.001);
        const busy = restAfter(work, limits, load);
        expect(busy).toBeGreaterThanOrEqual(rest);
        expect(busy).toBeLessThanOrEqual(Math.max(rest * 20 + 0.001, 0));
      },
    ),
  );
});

test('pauses accumulate until they are worth a timer, and none is lost', () => {
  const pace = new ScrubPace();
  const pauses = Array.from({ length: 100 }, () => pace.pauseFor(3));
  expect(pauses.filter((pause) => pause > 0).every((pause) => pause >= 20)).toBe(true);
  expect(pauses.reduce((sum, pause) => sum + pause, 0)).toBeGreaterThan(280);
});
