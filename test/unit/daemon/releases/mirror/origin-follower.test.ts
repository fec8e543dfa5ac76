import { expect, onTestFinished, test } from 'vitest';
import {
  createOriginFollower,
  type OriginFollowerOptions,
} from '../../../../../src/daemon/releases/mirror/origin-follower.ts';
import type { AttestedUpstream } from '../../../../../src/daemon/upstream/attested/attested-upstream.ts';
import { UpstreamError } from '../../../../../src/daemon/upstream/upstream.ts';
import { sampleRelease, sampleStatement } from '../../../../support/attestations.ts';
import { FakeClock } from '../../../../fakes/fake-clock.ts';
import { releaseRow } from '../release-row-fixture.ts';

const ISSUED = sampleStatement().issued_at;
const AT = ISSUED + 300;
const NEXT = sampleRelease('r91', 'e');
const STATEMENT = sampleStatement({
  localized: null,
  retained: [{ ...NEXT, channel: 'official', retained_until: AT + 86_400, current_at: AT }],
});

/** A follower of an origin with {@link STATEMENT}, here announced for another time. It looks every second. */
function follow({
  look,
  restate = async () => await Promise.resolve(1),
  history,
}: {
  readonly look: () => Promise<null>;
  readonly restate?: () => Promise<number | null>;
  /** Of the syncs. With it, there is nothing to fetch and nothing announced. */
  readonly history?: () => object;
}): {
  readonly clock: FakeClock;
  readonly lines: string[];
  readonly probes: unknown[];
  /** When syncs were queued, milliseconds after the start. */
  readonly syncs: number[];
  readonly retryAt: () => number | null;
} {
  const syncs: number[] = [];
  const isEqual = history !== undefined;
  const statement = isEqual ? sampleStatement({ localized: null, retained: [] }) : STATEMENT;
  const clock = new FakeClock(ISSUED * 1000);
  const lines: string[] = [];
  const probes: unknown[] = [];
  const attested = {
    source: { label: 'origin', current: look },
    channels: ['official'],
    pollMs: 1000,
    trustedKeys: async () => await Promise.resolve([]),
  } as unknown as AttestedUpstream;
  const log = (_about: unknown, line: string): void => {
    lines.push(line);
  };
  const follower = createOriginFollower({
    upstream: {
      current: () => ({ attested }),
      use: async (run: (connected: unknown) => Promise<number>) => await run({ attested }),
    },
    engine: {
      historyOf: history ?? (() => ({ last: null, consecutiveFailures: 0 })),
      submit: () => syncs.push(clock.now() - ISSUED * 1000),
    },
    releases: {
      current: () =>
        releaseRow('r90_one', {
          state: 'current',
          revision_id: 1,
          snapshot_id: statement.official?.snapshot_id ?? null,
        }),
      pointer: () => null,
      announcedOf: () => (isEqual ? null : { channel: 'official', release_id: 'r91', current_at: AT + 60 }),
      get: () => releaseRow('r91', { snapshot_id: NEXT.snapshot_id, state: 'verified' }),
    },
    origins: { held: () => ({ statement }), trust: () => undefined },
    probes: { record: (probe: unknown) => probes.push(probe) },
    retainedCount: () => 0,
    attestor: { restate, status: () => ({ status: 'ok' }) },
    clock,
    random: () => 0.5,
    logger: { info: log, warn: log, error: (line: string) => lines.push(line) },
  } as unknown as OriginFollowerOptions);
  follower.start();
  onTestFinished(async () => {
    await follower.stop();
  });
  return { clock, lines, probes, syncs, retryAt: () => follower.retryAt() };
}

test('an origin that says when to ask again is asked then, and each failure is recorded immediately', async () => {
  let looks = 0;
  const { clock, lines, probes } = follow({
    look: async () => {
      looks += 1;
      const throttled = new UpstreamError('upstream_throttled', 'later', {
        retryable: true,
        retryAfterMs: 20_000,
      });
      return await Promise.reject(throttled);
    },
  });
  await clock.advance(0);
  const until = new Date(ISSUED * 1000 + 20_000).toISOString();
  expect(looks).toBe(1);
  expect(probes).toEqual([
    { label: 'origin', ok: false, message: `later, not before ${until}`, checkedAt: ISSUED },
  ]);
  expect(lines).toEqual([`the origin cannot be followed: later, not before ${until}`]);
  await clock.advance(20_000);
  expect(looks).toBe(1);
  // Edges that get the same answer do not come back together.
  await clock.advance(1000);
  expect(looks).toBe(2);
});

test('an origin that asks for a long wait is looked at after about a minute, and the same failure is logged once', async () => {
  let looks = 0;
  const { clock, lines, probes } = follow({
    look: async () => {
      looks += 1;
      const throttled = new UpstreamError('upstream_throttled', 'later', {
        retryable: true,
        retryAfterMs: 300_000,
      });
      return await Promise.reject(throttled);
    },
  });
  await clock.advance(60_000);
  expect(looks).toBe(1);
  await clock.advance(6_000);
  expect([looks, probes.length, lines.length]).toEqual([2, 2, 1]);
});

test('an origin that says to ask again immediately is asked after the usual interval', async () => {
  let looks = 0;
  const { clock } = follow({
    look: async () => {
      looks += 1;
      const busy = new UpstreamError('upstream_throttled', 'now', { retryable: true, retryAfterMs: 0 });
      return await Promise.reject(busy);
    },
  });
  await clock.advance(2500);
  expect(looks).toBe(3);
});

test.each([
  [2, ['the announced release has another time']],
  // It was taken back meanwhile.
  [null, []],
] as const)(
  'another time of an announced release that gives the version %s logs %j',
  async (version, logged) => {
    const { clock, lines } = follow({
      look: async () => await Promise.resolve(null),
      restate: async () => await Promise.resolve(version),
    });
    await clock.advance(0);
    expect(lines).toEqual(logged);
  },
);

/** How syncs went of which the last one failed when the follower started. */
const FAILED = { last: { status: 'failed', finished_at: ISSUED }, consecutiveFailures: 1 };

test('the first good look after a failed one queues a sync when the last sync failed, although there is nothing to fetch', async () => {
  let isUntrusted = true;
  const { clock, lines, syncs } = follow({
    look: async () =>
      isUntrusted ? await Promise.reject(new Error('origin_untrusted')) : await Promise.resolve(null),
    history: () => (syncs.length === 0 ? FAILED : { ...FAILED, consecutiveFailures: 0 }),
  });
  await clock.advance(2500);
  expect(syncs).toEqual([]);
  isUntrusted = false;
  await clock.advance(60_000);
  expect(lines.at(-1)).toBe('the origin can be followed again');
  expect(syncs).toEqual([3000]);
});

test('a full data volume neither ends the follower nor keeps it from the origin', async () => {
  let looks = 0;
  const { clock, lines, syncs } = follow({
    look: async () => {
      looks += 1;
      return await Promise.reject(new Error('unreachable'));
    },
    history: () => {
      throw Object.assign(new Error('disk full'), { code: 'ENOSPC' });
    },
  });
  await clock.advance(32_500);
  expect([looks, syncs]).toEqual([33, []]);
  expect(lines.at(-1)).toContain('could not be stored');
});

test('an origin that cannot be followed for half a minute queues one sync, which fails for the same reason', async () => {
  let hasFailed = false;
  const { clock, syncs, retryAt } = follow({
    look: async () => await Promise.reject(new Error('unreachable')),
    history: () => (hasFailed ? FAILED : { last: null, consecutiveFailures: 0 }),
  });
  await clock.advance(29_500);
  expect([syncs, retryAt()]).toEqual([[], null]);
  await clock.advance(2000);
  expect(syncs).toEqual([30_000]);
  hasFailed = true;
  await clock.advance(60_000);
  expect(syncs).toEqual([30_000]);
  // The next look is the next attempt.
  expect(retryAt()).toBe(ISSUED + 92);
});

test('a sync that fails although the origin can be followed is queued again after half a minute', async () => {
  const { clock, syncs } = follow({
    look: async () => await Promise.resolve(null),
    history: () => ({
      ...FAILED,
      last: { status: 'failed', finished_at: ISSUED + (syncs.at(-1) ?? 0) / 1000 },
    }),
  });
  await clock.advance(70_000);
  expect(syncs).toEqual([30_000, 60_000]);
});

test('nothing is queued while the last sync succeeded and there is nothing to fetch', async () => {
  const { clock, syncs } = follow({
    look: async () => await Promise.resolve(null),
    history: () => ({ last: { status: 'succeeded', finished_at: ISSUED }, consecutiveFailures: 0 }),
  });
  await clock.advance(70_000);
  expect(syncs).toEqual([]);
});
