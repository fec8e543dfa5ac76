import { describe, expect, test } from 'vitest';
import type { ReleaseId } from '../../../../../src/domain/release/release-id.ts';
import {
  planCleanup,
  RETAINED_MAX_OF_CHANNEL,
  selectRetained,
  type CleanupRequest,
  type RetentionLimits,
} from '../../../../../src/daemon/releases/records/retention-rules.ts';
import { pointers, releaseRow } from '../release-row-fixture.ts';

const LIMITS = { count: 2, maxAgeSeconds: 100 };
const DAY = 86_400;

describe('selectRetained', () => {
  const selected = (
    limits: RetentionLimits,
    supersededAt: readonly number[],
    now: number,
  ): readonly [string, number][] => {
    const earlier = supersededAt.map((at) => releaseRow(`r-${at}`, { superseded_at: at }));
    const releases = [releaseRow('now', { state: 'current' }), ...earlier];
    return selectRetained({ releases, announced: [], pointers: pointers('now') }, limits, now).map(
      ({ release, until }) => [release.release_id, until],
    );
  };

  test('keeps the latest superseded releases, however old they are', () => {
    expect(selected(LIMITS, [900, 880, 890, 700], 1_000_000)).toEqual([
      ['r-900', 1_000_000 + DAY],
      ['r-890', 1_000_000 + DAY],
    ]);
  });

  test('keeps every release of the last hours beside them, so that early clients of a busy day can finish', () => {
    expect(selected(LIMITS, [1000, 990, 980, 970, 899], 999).map(([id]) => id)).toEqual([
      'r-1000',
      'r-990',
      'r-980',
      'r-970',
    ]);
  });

  test('ends at the age, to the second', () => {
    const byTime = { count: 0, maxAgeSeconds: 100 };
    expect(selected(byTime, [1000], 1099)).toEqual([['r-1000', 1100]]);
    expect(selected(byTime, [1000], 1100)).toEqual([]);
  });

  test('promises a counted release beyond the end of every attestation, also in the last second of its time', () => {
    expect(selected(LIMITS, [1000], 1099)).toEqual([['r-1000', 1099 + DAY]]);
  });

  test('keeps no more than fit into a statement', () => {
    const busy = Array.from({ length: 40 }, (_, order) => 1000 + order);
    const kept = selected({ count: 2, maxAgeSeconds: 1000 }, busy, 1050);
    expect(kept).toHaveLength(RETAINED_MAX_OF_CHANNEL);
    expect(kept[0]?.[0]).toBe('r-1039');
    expect(kept.at(-1)?.[0]).toBe('r-1024');
  });

  test.each([
    ['damaged', { state: 'damaged' as const }],
    ['deleted', { state: 'deleted' as const }],
    ['never published', { published_at: null }],
  ])('never offers a %s release', (_, change) => {
    const releases = [
      releaseRow('2', { state: 'current' }),
      releaseRow('1', { superseded_at: 1000, ...change }),
    ];
    expect(selectRetained({ releases, announced: [], pointers: pointers('2') }, LIMITS, 1000)).toEqual([]);
  });

  test('a localized release is retained from the moment its base was replaced', () => {
    const releases = [
      releaseRow('2', { state: 'current' }),
      releaseRow('1-l1', { channel: 'localized', state: 'current', stale_since: 1000 }),
    ];
    const retained = selectRetained(
      { releases, announced: [], pointers: pointers('2', '1-l1') },
      LIMITS,
      1050,
    );
    expect(retained.map(({ release }) => release.release_id)).toEqual(['1-l1']);
  });
});

describe('planCleanup', () => {
  const releases = [
    releaseRow('6', { state: 'current' }),
    releaseRow('5', { superseded_at: 1005 }),
    releaseRow('4', { superseded_at: 1004 }),
    releaseRow('3', { superseded_at: 1003, pinned: true }),
    releaseRow('2', { superseded_at: 1002 }),
    releaseRow('1', { superseded_at: 1001 }),
    releaseRow('2-l1', {
      channel: 'localized',
      state: 'current',
      base_release_id: '2' as ReleaseId,
      stale_since: 1,
    }),
    releaseRow('0', { state: 'deleted' }),
  ];
  const situation = { releases, announced: [], pointers: pointers('6', '2-l1') };
  const plan = (request: Partial<CleanupRequest>): { remove: string[]; keep: Record<string, string> } => {
    const made = planCleanup(situation, [], { count: 1, only: null, force: false, ...request });
    return {
      remove: made.remove.map((release) => release.release_id),
      keep: Object.fromEntries(made.keep.map(({ release, why }) => [release.release_id, why])),
    };
  };

  test('protects current, previous, pinned and bases for any count', () => {
    expect(plan({ count: 1 })).toEqual({
      remove: ['4', '1'],
      keep: { '6': 'current', '5': 'previous', '3': 'pinned', '2': 'base_of_localized', '2-l1': 'current' },
    });
  });

  test('keeps the requested number', () => {
    expect(plan({ count: 3 }).remove).toEqual(['1']);
    expect(plan({ count: 3 }).keep['4']).toBe('newest');
    expect(plan({ count: 9 }).remove).toEqual([]);
  });

  test('deletes exactly the named release', () => {
    expect(plan({ only: [{ channel: 'official', releaseId: '1' }] }).remove).toEqual(['1']);
    expect(plan({ only: [{ channel: 'official', releaseId: '2' }] }).remove).toEqual([]);
    expect(plan({ only: [{ channel: 'official', releaseId: '6' }] }).remove).toEqual([]);
  });

  test('releases that clients may still download are deleted only by force', () => {
    const retained = [{ release: releases[5]!, until: 2000 }];
    const request = { count: 1, only: null };
    expect(planCleanup(situation, retained, { ...request, force: false }).remove).toEqual([releases[2]]);
    expect(planCleanup(situation, retained, { ...request, force: true }).remove).toEqual([
      releases[2],
      releases[5],
    ]);
  });
});
