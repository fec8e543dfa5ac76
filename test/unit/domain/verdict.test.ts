import { instant } from '../../../src/domain/instant.ts';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type {
  AttestationStatement,
  AttestedRelease,
  ReleaseFailure,
} from '../../../src/domain/verdict/attestation.ts';
import { SERVER_INFO_NAME } from '../../../src/domain/release/server-info-document.ts';
import { reduce } from '../../../src/domain/verdict/reduce.ts';
import { CHANNELS, type Channel } from '../../../src/domain/release/channel.ts';
import type { Blake3Hex } from '../../../src/domain/release/digest.ts';
import { evaluate } from '../../../src/domain/verdict/evaluate.ts';
import type { Reason } from '../../../src/domain/verdict/reasons.ts';
import { CHECKS } from '../../../src/domain/verdict/verdict-checks.ts';
import type {
  DamageReport,
  EntryTrouble,
  Evidence,
  ReadManifest,
  SnapshotEvidence,
} from '../../../src/domain/verdict/evidence.ts';
import type { Verdict } from '../../../src/domain/verdict/verdict.ts';
import {
  attestedRelease,
  GOOD_AT,
  goodEvidence,
  readManifest,
  releaseIdOf,
  verifiedAttestation,
} from '../../support/evidence.ts';

const NOW = GOOD_AT * 1000;
const OFFICIAL = { channel: 'official' } as const;

/** One fault, and the reason that names it. */
interface Fault {
  readonly name: string;
  readonly reason: Reason;
  readonly channels: readonly Channel[];
  readonly apply: (evidence: Evidence, channel: Channel) => Evidence;
}

const NAME = { official: 'o1', localized: 'l1' } as const;

function withStatement(change: (statement: AttestationStatement) => Partial<AttestationStatement>) {
  return (evidence: Evidence): Evidence => {
    const { newest } = evidence;
    if (newest === null) return evidence;
    const changed = { ...newest, statement: { ...newest.statement, ...change(newest.statement) } };
    return { ...evidence, newest: changed, effective: changed };
  };
}

/** Replaces the state of the snapshot of the channel's release, if its manifest was read. */
function withSnapshot(change: (manifest: ReadManifest) => SnapshotEvidence | null) {
  return (evidence: Evidence, channel: Channel): Evidence => {
    const { snapshot_id } = attestedRelease(NAME[channel]);
    const before = evidence.snapshots.get(snapshot_id);
    if (before?.manifest !== 'ok') return evidence;
    const snapshots = new Map(evidence.snapshots);
    const after = change(before);
    if (after === null) snapshots.delete(snapshot_id);
    else snapshots.set(snapshot_id, after);
    return { ...evidence, snapshots };
  };
}

/** Damage in entries of the channel's release. */
function withDamage(trouble: EntryTrouble, kind: DamageReport['kind'] = 'damaged') {
  return (evidence: Evidence, channel: Channel): Evidence => {
    const { snapshot_id } = attestedRelease(NAME[channel]);
    const blake3 = `${kind} ${trouble.examples.join(' ')}` as Blake3Hex;
    const report: DamageReport = { blake3, destination: trouble.examples[0] ?? '', kind, message: 'bad' };
    const holders = new Map([[snapshot_id, trouble]]);
    return { ...evidence, damage: new Map(evidence.damage).set(blake3, { report, holders }) };
  };
}

function withoutAttestation(rejection: Evidence['rejection']) {
  return (evidence: Evidence): Evidence => ({ ...evidence, newest: null, effective: null, rejection });
}

// Ordered by precedence.
const FAULTS: readonly Fault[] = [
  {
    name: 'nothing received',
    reason: 'AttestationUnavailable',
    channels: CHANNELS,
    apply: withoutAttestation(null),
  },
  {
    name: 'only a bad one received',
    reason: 'AttestationInvalid',
    channels: CHANNELS,
    apply: withoutAttestation({ reason: 'AttestationInvalid', message: 'bad', at: NOW }),
  },
  {
    name: 'a newer version was seen',
    reason: 'AttestationRolledBack',
    channels: CHANNELS,
    apply: (evidence) => ({ ...evidence, highestVersions: new Map([['store-1', 8]]) }),
  },
  {
    name: 'dated in the future',
    reason: 'AttestationNotYetValid',
    channels: CHANNELS,
    apply: withStatement(() => ({ issued_at: GOOD_AT + 61 })),
  },
  {
    name: 'expired this instant',
    reason: 'AttestationExpired',
    channels: CHANNELS,
    apply: withStatement(() => ({ expires_at: GOOD_AT })),
  },
  {
    name: 'no release of the channel',
    reason: 'ReleaseNotAuthorized',
    channels: ['official'],
    apply: withStatement(() => ({ official: null })),
  },
  {
    name: 'no localized release',
    reason: 'ReleaseNotAuthorized',
    channels: ['localized'],
    apply: withStatement(() => ({ localized: null })),
  },
  {
    name: 'withdrawn',
    reason: 'ReleaseNotAuthorized',
    channels: ['official'],
    apply: withStatement(() => ({ official: attestedRelease('o1', { result: 'FAILED' }) })),
  },
  {
    name: 'made for another official release',
    reason: 'BaseReleaseChanged',
    channels: ['localized'],
    apply: withStatement(() => ({ official: attestedRelease('o2') })),
  },
  {
    name: 'left out because the official release has changed',
    reason: 'BaseReleaseChanged',
    channels: ['localized'],
    apply: withStatement(() => ({
      official: attestedRelease('o2'),
      localized: null,
      stale_localized: { release_id: releaseIdOf('l1'), base_release_id: releaseIdOf('o1') },
    })),
  },
  {
    name: 'withdrawn by a rollback, while only one of an earlier official release is retained',
    reason: 'ReleaseNotAuthorized',
    channels: ['localized'],
    apply: withStatement(() => ({
      localized: null,
      stale_localized: null,
      retained: [
        {
          ...attestedRelease('l0', { base_release_id: releaseIdOf('o0') }),
          channel: 'localized',
          retained_until: 10_000,
        },
      ],
    })),
  },
  {
    name: 'withdrawn by a rollback, while one of an earlier official release is retained',
    reason: 'ReleaseNotAuthorized',
    channels: ['localized'],
    apply: withStatement(({ localized }) => ({
      localized: null,
      retained:
        localized === null
          ? []
          : [
              { ...localized, channel: 'localized', retained_until: 10_000 },
              {
                ...attestedRelease('l0', { base_release_id: releaseIdOf('o0') }),
                channel: 'localized',
                retained_until: 10_000,
              },
            ],
    })),
  },
  {
    name: 'made for a damaged official release',
    reason: 'EntryDamaged',
    channels: ['localized'],
    apply: withStatement(() => ({
      official: attestedRelease('o1', {
        result: 'FAILED',
        failure: { reason: 'EntryDamaged', entry_count: 1, examples: ['a/b'] },
      }),
    })),
  },
  {
    name: 'made for a withdrawn official release',
    reason: 'ReleaseNotAuthorized',
    channels: ['localized'],
    apply: withStatement(() => ({ official: attestedRelease('o1', { result: 'FAILED' }) })),
  },
  {
    name: 'nothing bound',
    reason: 'SnapshotLoading',
    channels: CHANNELS,
    apply: withSnapshot(() => null),
  },
  {
    name: 'another snapshot bound',
    reason: 'SnapshotLoading',
    channels: CHANNELS,
    apply: (evidence) => ({
      ...evidence,
      snapshots: new Map([[attestedRelease('x').snapshot_id, readManifest('official', 'o1')]]),
    }),
  },
  {
    name: 'volume absent',
    reason: 'SnapshotMissing',
    channels: CHANNELS,
    apply: (evidence) => ({ ...evidence, volume: { ok: false, message: 'the volume is absent' } }),
  },
  {
    name: 'manifest missing',
    reason: 'SnapshotMissing',
    channels: CHANNELS,
    apply: withSnapshot(() => ({ manifest: 'missing', message: 'gone' })),
  },
  {
    name: 'manifest damaged',
    reason: 'ManifestDamaged',
    channels: CHANNELS,
    apply: withSnapshot(() => ({ manifest: 'damaged', message: 'changed' })),
  },
  {
    name: 'manifest of another length',
    reason: 'ManifestDamaged',
    channels: CHANNELS,
    apply: withSnapshot((manifest) => ({ ...manifest, entryCount: 4 })),
  },
  {
    name: 'manifest of another release',
    reason: 'ManifestDamaged',
    channels: CHANNELS,
    apply: withSnapshot((manifest) => ({ ...manifest, release_id: releaseIdOf('o9') })),
  },
  {
    name: 'an entry missing',
    reason: 'EntryMissing',
    channels: CHANNELS,
    apply: withSnapshot((manifest) => ({ ...manifest, missing: { count: 1, examples: ['a/b'] } })),
  },
  {
    name: 'an entry found missing later',
    reason: 'EntryMissing',
    channels: CHANNELS,
    apply: withDamage({ count: 1, examples: ['x'] }, 'missing'),
  },
  {
    name: 'an entry damaged',
    reason: 'EntryDamaged',
    channels: CHANNELS,
    apply: withDamage({ count: 12, examples: ['a/b', 'c'] }),
  },
];

describe.each(CHANNELS)('%s', (channel) => {
  test('good evidence is distributable, and every check confirms it', () => {
    expect(evaluate(goodEvidence(), { channel }, NOW)).toMatchObject({
      channel,
      distributable: true,
      reason: null,
      since: NOW,
      release_id: channel === 'official' ? 'o1' : 'l1',
      attestation: { version: 7 },
      checks: CHECKS.map(({ name }) => ({ name, ok: true })),
    });
  });

  test.each(FAULTS.filter((fault) => fault.channels.includes(channel)))('$name: $reason', (fault) => {
    const verdict = evaluate(fault.apply(goodEvidence(), channel), { channel }, NOW);
    expect(verdict.distributable).toBe(false);
    expect(verdict.reason).toBe(fault.reason);
    expect(verdict.message).not.toBe('');
    const decisive = verdict.checks.find(({ ok }) => ok === false);
    expect(decisive).toMatchObject({ reason: verdict.reason, message: verdict.message });
  });
});

test('the message names entries and how many more there are', () => {
  const evidence = withDamage({ count: 12, examples: ['a/b', 'c'] })(goodEvidence(), 'official');
  expect(evaluate(evidence, OFFICIAL, NOW).message).toContain('12 entries: a/b, c and 10 more');
});

test('the allowed clock skew, and the last instant of validity', () => {
  const early = withStatement(() => ({ issued_at: GOOD_AT + 60 }))(goodEvidence());
  expect(evaluate(early, OFFICIAL, NOW).distributable).toBe(true);
  expect(evaluate(early, OFFICIAL, NOW - 1).reason).toBe('AttestationNotYetValid');
  const end = verifiedAttestation().statement.expires_at * 1000;
  expect(evaluate(goodEvidence(), OFFICIAL, end - 1).distributable).toBe(true);
  expect(evaluate(goodEvidence(), OFFICIAL, end).reason).toBe('AttestationExpired');
});

const after =
  (previous: Verdict) =>
  (evidence: Evidence): Evidence => ({ ...evidence, verdicts: { official: previous, localized: null } });

const anyChannel = fc.constantFrom(...CHANNELS);
const anyFaults = fc.subarray([...FAULTS]);

test('property: distributable exactly when no check fails; the first failure decides; it is pure', () => {
  fc.assert(
    fc.property(anyChannel, anyFaults, (channel, faults) => {
      const applied = faults.filter((fault) => fault.channels.includes(channel));
      const evidence = applied.reduce((current, fault) => fault.apply(current, channel), goodEvidence());
      const verdict = evaluate(evidence, { channel }, NOW);
      expect(verdict.distributable).toBe(applied.length === 0);
      expect(verdict.distributable).toBe(verdict.checks.every(({ ok }) => ok === true));
      expect(verdict.reason).toBe(verdict.checks.find(({ ok }) => ok === false)?.reason ?? null);
      expect(evaluate(evidence, { channel }, NOW)).toEqual(verdict);
    }),
    { numRuns: 1000 },
  );
});

test('property: an additional fault never makes the verdict positive', () => {
  fc.assert(
    fc.property(anyChannel, anyFaults, anyFaults, (channel, faults, more) => {
      const apply = (list: readonly Fault[]): Evidence =>
        list
          .filter((fault) => fault.channels.includes(channel))
          .reduce((current, fault) => fault.apply(current, channel), goodEvidence());
      if (evaluate(apply(faults), { channel }, NOW).distributable) return;
      expect(evaluate(apply([...faults, ...more]), { channel }, NOW).distributable).toBe(false);
    }),
    { numRuns: 500 },
  );
});

test('property: "since" moves exactly when state, reason or release change', () => {
  const step = fc.record({
    fault: fc.option(fc.constantFrom(...FAULTS)),
    seconds: fc.integer({ min: 0, max: 50 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      let nowMs = NOW;
      let previous = evaluate(goodEvidence(), OFFICIAL, nowMs);
      for (const { fault, seconds } of steps) {
        nowMs += seconds * 1000;
        const applies = fault?.channels.includes('official') === true;
        const evidence = applies ? fault.apply(goodEvidence(), 'official') : goodEvidence();
        const verdict = evaluate(after(previous)(evidence), OFFICIAL, nowMs);
        const same =
          verdict.distributable === previous.distributable &&
          verdict.reason === previous.reason &&
          verdict.release_id === previous.release_id;
        expect(verdict.since).toBe(same ? previous.since : nowMs);
        previous = verdict;
      }
    }),
  );
});

test('a switch to another release starts a new "since" although both are distributable', () => {
  const first = evaluate(goodEvidence(), OFFICIAL, NOW);
  const attested = attestedRelease('o9');
  const evidence = withStatement(() => ({ official: attested }))(goodEvidence());
  const switched = evaluate(
    {
      ...after(first)(evidence),
      snapshots: new Map([[attested.snapshot_id, readManifest('official', 'o9')]]),
    },
    OFFICIAL,
    NOW + 5000,
  );
  expect(switched).toMatchObject({ distributable: true, release_id: 'o9', since: NOW + 5000 });
});

describe('checks without input', () => {
  const names = (verdict: Verdict, ok: boolean | null): readonly string[] =>
    verdict.checks.filter((check) => check.ok === ok).map(({ name }) => name);

  test('are not shown as passed', () => {
    const nothing = evaluate(withoutAttestation(null)(goodEvidence()), OFFICIAL, NOW);
    expect([names(nothing, true), names(nothing, false)]).toEqual([[], ['attestation-accepted']]);
    const noRelease = evaluate(withStatement(() => ({ official: null }))(goodEvidence()), OFFICIAL, NOW);
    expect(names(noRelease, false)).toEqual(['release-authorized']);
    expect(names(noRelease, null)).toEqual([
      'verification-passed',
      'retention-running',
      'base-release-current',
      'snapshot-bound',
      'manifest-intact',
      'entries-present',
      'entries-undamaged',
    ]);
    const unread = evaluate(withSnapshot(() => null)(goodEvidence(), 'official'), OFFICIAL, NOW);
    expect(names(unread, null)).toEqual(['manifest-intact', 'entries-present', 'entries-undamaged']);
  });

  test('property: come only after a check that failed', () => {
    fc.assert(
      fc.property(anyChannel, anyFaults, (channel, faults) => {
        const evidence = faults.reduce((current, fault) => fault.apply(current, channel), goodEvidence());
        const { checks } = evaluate(evidence, { channel }, NOW);
        const first = checks.findIndex(({ ok }) => ok !== true);
        expect(first === -1 || checks[first]?.ok === false).toBe(true);
      }),
    );
  });
});

describe('a release that the attestation withdraws', () => {
  const withdrawn = (failure?: ReleaseFailure): Verdict =>
    evaluate(
      withStatement(() => ({ official: attestedRelease('o1', { result: 'FAILED', failure }) }))(
        goodEvidence(),
      ),
      OFFICIAL,
      NOW,
    );

  test('keeps the reason of its failure, with the number of entries and the first of them', () => {
    const verdict = withdrawn({ reason: 'EntryDamaged', entry_count: 7, examples: ['a/b', 'c'] });
    expect(verdict).toMatchObject({ distributable: false, reason: 'EntryDamaged', release_id: 'o1' });
    expect(verdict.message).toContain('7 entries: a/b, c and 5 more');
    expect(withdrawn({ reason: 'EntryMissing', entry_count: 1, examples: ['x'] })).toMatchObject({
      reason: 'EntryMissing',
      message: expect.stringContaining('1 entry: x') as string,
    });
    for (const reason of ['ManifestDamaged', 'SnapshotMissing'] as const)
      expect(withdrawn({ reason, entry_count: 0, examples: [] }).reason).toBe(reason);
  });

  test('is not authorized when the daemon names no failure', () => {
    expect(withdrawn()).toMatchObject({
      reason: 'ReleaseNotAuthorized',
      message: 'the attestation withdraws official release o1: its last verification failed',
    });
  });
});

describe('a retained release', () => {
  const retained = {
    ...attestedRelease('o0'),
    channel: 'official',
    retained_until: GOOD_AT + 60,
  } as const;
  const good = withStatement(() => ({ retained: [retained] }))({
    ...goodEvidence(),
    snapshots: new Map([...goodEvidence().snapshots, [retained.snapshot_id, readManifest('official', 'o0')]]),
  });
  const subject = { channel: 'official', release: retained } as const;

  test('is judged by the same checks, until its retention ends', () => {
    const verdict = evaluate(good, subject, NOW);
    expect(verdict).toMatchObject({ distributable: true, release_id: 'o0' });
    expect(verdict.checks).toEqual(CHECKS.map(({ name }) => ({ name, ok: true })));
    expect(evaluate(good, subject, NOW + 59_999).distributable).toBe(true);
    expect(evaluate(good, subject, NOW + 60_000)).toMatchObject({
      distributable: false,
      reason: 'ReleaseNotAuthorized',
      message: `release o0 was retained until ${instant(NOW / 1000 + 60)}`,
    });
  });

  test('needs no current base when it is localized', () => {
    const localized = {
      ...attestedRelease('l0'),
      channel: 'localized',
      retained_until: GOOD_AT + 60,
    } as const;
    const evidence = withStatement(() => ({ retained: [localized] }))({
      ...goodEvidence(),
      snapshots: new Map([[localized.snapshot_id, readManifest('localized', 'l0')]]),
    });
    expect(evaluate(evidence, { channel: 'localized', release: localized }, NOW).distributable).toBe(true);
  });

  test.each(
    FAULTS.filter(({ name }) =>
      ['nothing received', 'dated in the future', 'expired this instant', 'volume absent'].includes(name),
    ),
  )('$name: $reason', (fault) => {
    expect(evaluate(fault.apply(good, 'official'), subject, NOW).reason).toBe(fault.reason);
  });

  test('is refused with the reason of its own snapshot, and when the attestation no longer names it', () => {
    const snapshots = new Map(good.snapshots);
    snapshots.delete(retained.snapshot_id);
    expect(evaluate({ ...good, snapshots }, subject, NOW).reason).toBe('SnapshotLoading');
    snapshots.set(retained.snapshot_id, readManifest('official', 'o0', { entryCount: 9 }));
    expect(evaluate({ ...good, snapshots }, subject, NOW).reason).toBe('ManifestDamaged');
    expect(evaluate(goodEvidence(), subject, NOW)).toMatchObject({
      reason: 'ReleaseNotAuthorized',
      message: 'release o0 is no longer authorized',
    });
  });
});

test('the finder of damage is that of the damage in the message', () => {
  const { snapshot_id } = attestedRelease(NAME.official);
  const found = (kind: DamageReport['kind'], found_by?: DamageReport['found_by']) => {
    const blake3 = `${kind} ${found_by}` as Blake3Hex;
    const report: DamageReport = { blake3, destination: 'a', kind, message: 'bad', found_by };
    return [blake3, { report, holders: new Map([[snapshot_id, { count: 1, examples: ['a'] }]]) }] as const;
  };
  const finderOf = (...damage: ReadonlyArray<ReturnType<typeof found>>) =>
    evaluate({ ...goodEvidence(), damage: new Map(damage) }, OFFICIAL, NOW).found_by;
  // The attestation reported the first damage, and the scrub found another one.
  expect(finderOf(found('damaged'), found('damaged', 'scrub'))).toBe('scrub');
  // The reason is the missing entry.
  expect(finderOf(found('damaged', 'scrub'), found('missing', 'client'))).toBe('client');
  expect(finderOf(found('damaged', 'scrub'), found('missing'))).toBeUndefined();
});

describe('the server-info document beside the manifest', () => {
  const blake3 = (letter: string): Blake3Hex => letter.repeat(64) as Blake3Hex;
  const attesting = (evidence: Evidence, server_info: AttestedRelease['server_info']): Evidence =>
    withStatement(({ official }) => ({ official: official === null ? null : { ...official, server_info } }))(
      evidence,
    );
  const damaged = (evidence: Evidence, letter: string, kind: 'missing' | 'damaged'): Evidence => {
    const report = { blake3: blake3(letter), kind, destination: SERVER_INFO_NAME, message: 'bad' };
    return reduce(evidence, {
      type: 'damage-found',
      found: [{ report, holders: new Map() }],
      at: NOW,
    });
  };

  test.each([
    ['damaged', 'EntryDamaged'],
    ['missing', 'EntryMissing'],
  ] as const)('withdraws its release while it is %s', (kind, reason) => {
    const evidence = damaged(attesting(goodEvidence(), { blake3: blake3('d'), size: 5 }), 'd', kind);
    const verdict = evaluate(evidence, OFFICIAL, NOW);
    expect(verdict).toMatchObject({ distributable: false, reason });
    expect(verdict.message).toContain(`1 entry: ${SERVER_INFO_NAME}`);
    const repaired = reduce(evidence, { type: 'damage-repaired', digests: [blake3('d')], at: NOW });
    expect(evaluate(repaired, OFFICIAL, NOW).distributable).toBe(true);
  });

  test('no longer counts when an attestation names another one, and its damage is forgotten', () => {
    const evidence = damaged(attesting(goodEvidence(), { blake3: blake3('d'), size: 5 }), 'd', 'damaged');
    const { newest } = evidence;
    if (newest === null) throw new Error('no attestation');
    const { official } = newest.statement;
    if (official === null) throw new Error('no release');
    const after = reduce(evidence, {
      type: 'envelope-offered',
      envelope: new Uint8Array(),
      verified: {
        ok: true,
        value: {
          ...newest,
          payloadSha256: 'next',
          statement: {
            ...newest.statement,
            version: newest.statement.version + 1,
            official: { ...official, server_info: { blake3: blake3('e'), size: 6 } },
          },
        },
      },
      at: NOW,
    });
    expect(evaluate(after, OFFICIAL, NOW).distributable).toBe(true);
    expect(after.damage.size).toBe(0);
  });
});
