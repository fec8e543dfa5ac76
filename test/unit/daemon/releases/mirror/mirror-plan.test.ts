import { describe, expect, test } from 'vitest';
import { planAnnouncement, planMirror } from '../../../../../src/daemon/releases/mirror/mirror-plan.ts';
import { originMakesCurrent } from '../../../../../src/daemon/releases/mirror/origin-limits.ts';
import { missingRetained } from '../../../../../src/daemon/releases/mirror/plan-retained.ts';
import type { ReleaseRow } from '../../../../../src/daemon/releases/records/release-row.ts';
import type { AttestationStatement } from '../../../../../src/domain/verdict/attestation.ts';
import type { AttestedUpstream } from '../../../../../src/daemon/upstream/attested/attested-upstream.ts';
import { releaseIdOf, sampleRelease, sampleStatement } from '../../../../support/attestations.ts';
import { releaseRow } from '../release-row-fixture.ts';

const ISSUED = sampleStatement().issued_at;
const AT = ISSUED + 300;
const NEXT = sampleRelease('r91', 'e');
const ANNOUNCING = sampleStatement({
  localized: null,
  retained: [
    { ...NEXT, channel: 'official', retained_until: AT + 86_400, current_at: AT },
    ...sampleStatement().retained,
  ],
});

/** A release here that is exactly one of the origin. */
function copyOf({ release_id: id, snapshot_id }: typeof NEXT, change: Partial<ReleaseRow> = {}): ReleaseRow {
  return releaseRow(id, { snapshot_id, revision_id: 1, ...change });
}

const CURRENT = copyOf(sampleRelease('r90_one', 'a'), { state: 'current' });

function step(statement: AttestationStatement, current: ReleaseRow, nowSeconds: number): string {
  const planned = planMirror(
    statement,
    { channel: 'official', current, officialId: null, isThere: () => true },
    nowSeconds,
  );
  return planned.kind === 'follow' ? planned.release.attested.release_id : planned.kind;
}

describe('the current release of the origin', () => {
  const held = copyOf(sampleRelease('r91', 'e'), { state: 'current' });

  test('is followed also to an earlier one', () => {
    expect(step(sampleStatement(), held, ISSUED)).toBe('r90_one');
    expect(step(sampleStatement(), CURRENT, ISSUED)).toBe('none');
    // The same id with other bytes is another release.
    expect(step(sampleStatement(), copyOf(sampleRelease('r90_one', 'b'), { state: 'current' }), ISSUED)).toBe(
      'r90_one',
    );
  });

  test('is taken back by a statement that names none, and only by that', () => {
    const withdrawn = sampleStatement({ official: null, localized: null });
    expect(step(withdrawn, CURRENT, ISSUED)).toBe('withdraw');
    const failed = { ...sampleRelease('r90_one', 'a'), result: 'FAILED' as const };
    expect(step(sampleStatement({ official: failed }), CURRENT, ISSUED)).toBe('none');
    expect(step(sampleStatement({ official: failed }), held, ISSUED)).toBe('wait');
  });
});

describe('an announced release', () => {
  test('is followed as the current one from its time on, and not before', () => {
    expect(step(ANNOUNCING, CURRENT, AT - 1)).toBe('none');
    expect(step(ANNOUNCING, CURRENT, AT)).toBe('r91');
    expect(step(ANNOUNCING, copyOf(NEXT, { state: 'current' }), AT)).toBe('none');
  });

  test('is not followed when the attestation has expired by its time', () => {
    expect(step({ ...ANNOUNCING, expires_at: AT }, CURRENT, AT)).toBe('none');
    expect(step({ ...ANNOUNCING, expires_at: AT + 1 }, CURRENT, AT)).toBe('r91');
  });

  test('is left when a later attestation has another current release', () => {
    expect(step(sampleStatement(), copyOf(NEXT, { state: 'current' }), AT)).toBe('r90_one');
  });

  const plan = (
    statement: AttestationStatement,
    currentAt: number | null,
    held: ReleaseRow | null,
    nowSeconds = ISSUED,
  ): string => {
    const announced =
      currentAt === null
        ? null
        : { channel: 'official' as const, release_id: NEXT.release_id, current_at: currentAt };
    return planAnnouncement(statement, { channel: 'official', announced, held, officialId: null }, nowSeconds)
      .kind;
  };

  test('is announced here with the same time, again when it was damaged, and taken back', () => {
    expect(plan(ANNOUNCING, null, null)).toBe('announce');
    expect(plan(ANNOUNCING, AT, copyOf(NEXT, { state: 'verified' }))).toBe('none');
    expect(plan(ANNOUNCING, AT + 1, copyOf(NEXT, { state: 'verified' }))).toBe('restate');
    expect(plan(ANNOUNCING, AT, copyOf(NEXT, { state: 'damaged' }))).toBe('announce');
    expect(plan(ANNOUNCING, null, null, AT)).toBe('none');
    expect(plan(sampleStatement(), AT, null)).toBe('cancel');
    expect(plan(sampleStatement(), null, null)).toBe('none');
  });

  test('becomes current here only by what the origin signed', () => {
    const upstream = { channels: ['official'] } as unknown as AttestedUpstream;
    const announced = { channel: 'official' as const, release_id: NEXT.release_id, current_at: AT };
    const may = (statement: AttestationStatement | null, nowSeconds = AT): boolean =>
      originMakesCurrent(
        upstream,
        { held: () => (statement === null ? null : ({ statement } as never)) },
        announced,
        nowSeconds,
      );
    expect([may(ANNOUNCING), may(ANNOUNCING, AT - 1), may(sampleStatement()), may(null)]).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(originMakesCurrent(undefined, { held: () => null }, announced, AT)).toBe(true);
  });
});

describe('the earlier releases of the origin', () => {
  const retained = ['r89', 'r88', 'r87'].map((id, place) => ({
    ...sampleRelease(id, String(place)),
    channel: 'official' as const,
    retained_until: AT + 86_400,
  }));
  const statement = sampleStatement({ retained: [...ANNOUNCING.retained.slice(0, 1), ...retained] });
  const missing = (held: readonly ReleaseRow[], count: number): readonly (readonly [string, number])[] =>
    missingRetained(
      statement,
      { get: (_, id) => held.find(({ release_id }) => release_id === releaseIdOf(id)) ?? null },
      { channels: ['official'], count },
    ).map(({ release, place }) => [release.release_id, place]);

  test('are missing here as far as they would be retained here', () => {
    expect(missing([], 2)).toEqual([
      ['r89', 0],
      ['r88', 1],
    ]);
    expect(missing([], 0)).toEqual([]);
    const [first] = retained;
    if (first === undefined) throw new Error('there is no first one');
    expect(missing([copyOf(first)], 3)).toEqual([
      ['r88', 1],
      ['r87', 2],
    ]);
    expect(missing([copyOf(first, { state: 'failed' })], 1)).toEqual([['r89', 0]]);
  });
});

describe('a localized release', () => {
  const statement = sampleStatement();
  const { localized } = statement;
  const stepWhere = (isThere: boolean): string =>
    planMirror(
      statement,
      {
        channel: 'localized',
        current: null,
        officialId: localized?.base_release_id ?? null,
        isThere: () => isThere,
      },
      ISSUED,
    ).kind;

  test('waits until a source that was carried has it, as it does for its base', () => {
    expect(localized).not.toBeNull();
    expect(stepWhere(true)).toBe('follow');
    expect(stepWhere(false)).toBe('wait');
  });
});
