import { describe, expect, test } from 'vitest';
import type { ReleaseId } from '../../../src/domain/release/release-id.ts';
import { planStatement, type StatementPlan } from '../../../src/releases/attest/statement-rules.ts';
import type { ReleaseSituation } from '../../../src/releases/records/retention-rules.ts';
import { planSwitch } from '../../../src/releases/records/switch-rules.ts';
import { pointers, releaseRow } from '../../support/release-row-fixture.ts';

const LIMITS = { retention: { retained: 0, maxAgeSeconds: 100 }, maxVerifyAgeSeconds: 500, origin: null };
const FAILURE = { reason: 'EntryDamaged', entry_count: 1, examples: ['a.zip'] } as const;

function content(situation: ReleaseSituation, now = 1000): Extract<StatementPlan, { ok: true }>['content'] {
  const plan = planStatement(situation, LIMITS, now, () => FAILURE);
  if (!plan.ok) throw new Error(plan.message);
  return plan.content;
}

describe('planStatement', () => {
  test('nothing is authorized where nothing is current', () => {
    expect(content({ releases: [], announced: [], pointers: pointers(null) })).toEqual({
      official: null,
      localized: null,
      stale_localized: null,
      retained: [],
    });
  });

  test('a damaged release is named as failed, so that receivers learn of its withdrawal', () => {
    const situation = {
      releases: [releaseRow('1', { state: 'damaged' })],
      announced: [],
      pointers: pointers('1'),
    };
    expect(content(situation).official).toMatchObject({
      release_id: '1',
      result: 'FAILED',
      failure: FAILURE,
    });
  });

  test('nothing is attested when the last full verification is too old', () => {
    const situation = {
      releases: [releaseRow('1', { state: 'current', verified_at: 500 })],
      announced: [],
      pointers: pointers('1'),
    };
    expect(planStatement(situation, LIMITS, 999, () => FAILURE).ok).toBe(true);
    expect(planStatement(situation, LIMITS, 1000, () => FAILURE)).toMatchObject({ ok: false });
    const never = {
      releases: [releaseRow('1', { state: 'current', verified_at: null })],
      announced: [],
      pointers: pointers('1'),
    };
    expect(planStatement(never, LIMITS, 1000, () => FAILURE)).toMatchObject({ ok: false });
  });

  test('a verification that is dated in the future supports nothing, beyond the tolerance of a clock', () => {
    const at = (verified_at: number) => ({
      releases: [releaseRow('1', { state: 'current', verified_at })],
      pointers: pointers('1'),
      announced: [],
    });
    expect(planStatement(at(1060), LIMITS, 1000, () => FAILURE).ok).toBe(true);
    expect(planStatement(at(1061), LIMITS, 1000, () => FAILURE)).toMatchObject({
      ok: false,
      message: expect.stringContaining('is dated in the future') as string,
    });
  });

  test('an edge attests nothing after the last attestation of its origin that names the release is too old, and nothing beyond that', () => {
    const situation = {
      releases: [releaseRow('1', { state: 'current' })],
      announced: [],
      pointers: pointers('1'),
    };
    const from = (freshUntil: number) => ({
      ...LIMITS,
      origin: { freshUntil: () => freshUntil, isNamed: () => true },
    });
    expect(planStatement(situation, from(1001), 1000, () => FAILURE)).toMatchObject({
      ok: true,
      expiresBy: 1001,
    });
    expect(planStatement(situation, from(1000), 1000, () => FAILURE)).toMatchObject({ ok: false });
    expect(planStatement(situation, from(0), 1000, () => FAILURE)).toMatchObject({ ok: false });
    const empty = { releases: [], announced: [], pointers: pointers(null) };
    expect(planStatement(empty, from(0), 1000, () => FAILURE).ok).toBe(true);
  });

  test('an edge leaves out a localized release that its origin has not named for too long', () => {
    const situation = {
      releases: [
        releaseRow('1', { state: 'current' }),
        releaseRow('1-l1', { channel: 'localized', state: 'current', base_release_id: '1' as ReleaseId }),
      ],
      announced: [],
      pointers: pointers('1', '1-l1'),
    };
    const named = (localizedUntil: number) =>
      planStatement(
        situation,
        {
          ...LIMITS,
          origin: {
            freshUntil: ({ channel }) => (channel === 'official' ? 2000 : localizedUntil),
            isNamed: () => true,
          },
        },
        1000,
        () => FAILURE,
      );
    expect(named(1001)).toMatchObject({
      content: { localized: { release_id: '1-l1' } },
      expiresBy: 1001,
      notes: [],
    });
    expect(named(1000)).toMatchObject({
      content: { official: { release_id: '1' }, localized: null },
      expiresBy: 2000,
      notes: [expect.stringContaining('names it is too old') as string],
    });
    // The localized channel is not mirrored, so the origin has no say in it.
    expect(named(Infinity)).toMatchObject({
      content: { localized: { release_id: '1-l1' } },
      expiresBy: 2000,
    });
  });

  test('an edge retains only releases that its origin still names', () => {
    const situation = {
      releases: [
        releaseRow('2', { state: 'current' }),
        releaseRow('1', { state: 'superseded', superseded_at: 990 }),
      ],
      announced: [],
      pointers: pointers('2'),
    };
    const naming = (named: boolean) => ({
      ...LIMITS,
      origin: { freshUntil: () => 2000, isNamed: () => named },
    });
    const retained = (named: boolean) => {
      const plan = planStatement(situation, naming(named), 1000, () => FAILURE);
      return plan.ok ? plan.content.retained.map(({ release_id: id }) => id) : null;
    };
    expect(retained(true)).toEqual(['1']);
    expect(retained(false)).toEqual([]);
  });

  test('a localized release is left out when its base is not current, and is not repeated as retained', () => {
    const localized = releaseRow('1-l1', {
      channel: 'localized',
      state: 'current',
      base_release_id: '1' as ReleaseId,
    });
    const one = {
      releases: [releaseRow('1', { state: 'current' }), localized],
      announced: [],
      pointers: pointers('1', '1-l1'),
    };
    expect(content(one).localized).toMatchObject({ release_id: '1-l1', base_release_id: '1' });
    const stillMarked = {
      ...one,
      releases: [releaseRow('1', { state: 'current' }), { ...localized, stale_since: 990 }],
    };
    expect(content(stillMarked).retained).toEqual([]);
    const moved = {
      releases: [...one.releases, releaseRow('2', { state: 'current' })],
      announced: [],
      pointers: pointers('2', '1-l1'),
    };
    expect(content(moved)).toMatchObject({
      localized: null,
      stale_localized: { release_id: '1-l1', base_release_id: '1' },
    });
    expect(content(one).stale_localized).toBeNull();
    // A rollback has withdrawn the channel, whatever is retained.
    expect(content({ ...moved, pointers: pointers('2') }).stale_localized).toBeNull();
  });
});

describe('planSwitch', () => {
  test('replaces, retains, marks the localized release stale, and undoes it all on a rollback', () => {
    const localized = releaseRow('1-l1', {
      channel: 'localized',
      state: 'current',
      base_release_id: '1' as ReleaseId,
    });
    const before = {
      releases: [
        releaseRow('1', { state: 'current' }),
        releaseRow('2', { state: 'verified', published_at: null }),
        localized,
      ],
      announced: [],
      pointers: pointers('1', '1-l1'),
    };
    const forward = planSwitch(before, 'official', '2', 1010);
    expect(forward.changes.map(({ release, change }) => [release.release_id, change])).toEqual([
      ['1', { state: 'superseded', superseded_at: 1010, stale_since: null }],
      ['2', { state: 'current', published_at: 1010, superseded_at: null }],
      ['1-l1', { stale_since: 1010 }],
    ]);
    expect(content(forward.after, 1010)).toMatchObject({
      official: { release_id: '2' },
      localized: null,
      retained: [
        { release_id: '1', channel: 'official', retained_until: 1110 },
        { release_id: '1-l1', channel: 'localized', retained_until: 1110 },
      ],
    });
    const back = planSwitch(forward.after, 'official', '1', 1020);
    expect(content(back.after, 1020)).toMatchObject({
      official: { release_id: '1' },
      localized: { release_id: '1-l1' },
      retained: [{ release_id: '2' }],
    });
  });

  test('a switch to the current release changes no date', () => {
    const before = {
      releases: [releaseRow('1', { state: 'current' })],
      announced: [],
      pointers: pointers('1'),
    };
    const plan = planSwitch(before, 'official', '1', 5000);
    expect(plan.after.pointers.official?.since).toBe(1000);
    expect(plan.after.releases[0]).toMatchObject({
      state: 'current',
      published_at: 1000,
      superseded_at: null,
    });
  });

  test('each release is current since later than the one before, also when the clock was set back', () => {
    const situation = {
      releases: [releaseRow('1', { state: 'current' }), releaseRow('2')],
      announced: [],
      pointers: pointers('1'),
    };
    const since = (after: ReleaseSituation): number | undefined => content(after).official?.current_since;
    expect(since(situation)).toBe(1000);
    const forward = planSwitch(situation, 'official', '2', 1000);
    expect(since(forward.after)).toBe(1001);
    const back = planSwitch(forward.after, 'official', '1', 400);
    expect(since(back.after)).toBe(1002);
    expect(back.after.releases[0]?.published_at).toBe(1002);
    // The one that was replaced is known by that time.
    expect(back.after.releases.map(({ superseded_at: at }) => at)).toEqual([null, 1002]);
    // After a withdrawal there is no pointer.
    const withdrawn = { ...back.after, pointers: pointers(null) };
    expect(since(planSwitch(withdrawn, 'official', '1', 400).after)).toBe(1003);
    expect(since(planSwitch(withdrawn, 'official', '1', 5000).after)).toBe(5000);
  });

  test('a damaged release stays damaged when it is replaced', () => {
    const before = {
      releases: [releaseRow('1', { state: 'damaged' }), releaseRow('2', { state: 'verified' })],
      announced: [],
      pointers: pointers('1'),
    };
    expect(planSwitch(before, 'official', '2', 1010).after.releases[0]?.state).toBe('damaged');
  });
});
