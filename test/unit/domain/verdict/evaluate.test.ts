import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AttestationStatement } from '../../../../src/domain/verdict/attestation.ts';
import { CHANNELS, type Channel } from '../../../../src/domain/release/channel.ts';
import { evaluate } from '../../../../src/domain/verdict/evaluate.ts';
import type { Reason } from '../../../../src/domain/verdict/reasons.ts';
import { CHECKS } from '../../../../src/domain/verdict/verdict-checks.ts';
import type { Evidence, SnapshotEvidence } from '../../../../src/domain/verdict/verdict.ts';
import {
  attestedRelease,
  GOOD_AT,
  goodEvidence,
  releaseIdOf,
  verifiedAttestation,
} from '../../../support/evidence.ts';

const NOW = GOOD_AT * 1000;

/** One thing that is wrong, and the reason that names it. */
interface Fault {
  readonly name: string;
  readonly reason: Reason;
  readonly channels: readonly Channel[];
  readonly apply: (evidence: Evidence) => Evidence;
}

function withStatement(change: (statement: AttestationStatement) => Partial<AttestationStatement>) {
  return (evidence: Evidence): Evidence => {
    const { accepted } = evidence.attestation;
    if (accepted === null) return evidence;
    const statement = { ...accepted.statement, ...change(accepted.statement) };
    return { ...evidence, attestation: { ...evidence.attestation, accepted: { ...accepted, statement } } };
  };
}

function withSnapshot(changes: Partial<SnapshotEvidence>) {
  return (evidence: Evidence): Evidence =>
    evidence.snapshot === null ? evidence : { ...evidence, snapshot: { ...evidence.snapshot, ...changes } };
}

function withAttestation(changes: Partial<Evidence['attestation']>) {
  return (evidence: Evidence): Evidence => ({
    ...evidence,
    attestation: { ...evidence.attestation, ...changes },
  });
}

// In the order in which the first one decides.
const FAULTS: readonly Fault[] = [
  {
    name: 'nothing received',
    reason: 'AttestationUnavailable',
    channels: CHANNELS,
    apply: withAttestation({ accepted: null, rejection: null }),
  },
  {
    name: 'only a bad one received',
    reason: 'AttestationInvalid',
    channels: CHANNELS,
    apply: withAttestation({
      accepted: null,
      rejection: { reason: 'AttestationInvalid', message: 'bad', at: NOW },
    }),
  },
  {
    name: 'a newer version was seen',
    reason: 'AttestationRolledBack',
    channels: CHANNELS,
    apply: withAttestation({ highestVersion: 8 }),
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
    name: 'made for a withdrawn official release',
    reason: 'BaseReleaseChanged',
    channels: ['localized'],
    apply: withStatement(() => ({ official: attestedRelease('o1', { result: 'FAILED' }) })),
  },
  {
    name: 'nothing bound',
    reason: 'SnapshotLoading',
    channels: CHANNELS,
    apply: (evidence) => ({ ...evidence, snapshot: null }),
  },
  {
    name: 'another snapshot bound',
    reason: 'SnapshotLoading',
    channels: CHANNELS,
    apply: (evidence) =>
      evidence.snapshot === null
        ? evidence
        : { ...evidence, snapshot: { ...evidence.snapshot, snapshot_id: attestedRelease('x').snapshot_id } },
  },
  {
    name: 'manifest being read',
    reason: 'SnapshotLoading',
    channels: CHANNELS,
    apply: withSnapshot({ manifest: 'loading' }),
  },
  {
    name: 'manifest missing',
    reason: 'SnapshotMissing',
    channels: CHANNELS,
    apply: withSnapshot({ manifest: 'missing', manifestMessage: 'gone' }),
  },
  {
    name: 'manifest damaged',
    reason: 'ManifestDamaged',
    channels: CHANNELS,
    apply: withSnapshot({ manifest: 'damaged', manifestMessage: 'changed' }),
  },
  {
    name: 'manifest of another length',
    reason: 'ManifestDamaged',
    channels: CHANNELS,
    apply: withSnapshot({ entryCount: 4 }),
  },
  {
    name: 'an entry missing',
    reason: 'EntryMissing',
    channels: CHANNELS,
    apply: withSnapshot({ missing: { count: 1, examples: ['a/b'] } }),
  },
  {
    name: 'an entry damaged',
    reason: 'EntryDamaged',
    channels: CHANNELS,
    apply: withSnapshot({ damaged: { count: 12, examples: ['a/b', 'c'] } }),
  },
];

describe.each(CHANNELS)('%s', (channel) => {
  test('good evidence is distributable, every check said so', () => {
    expect(evaluate(goodEvidence(channel), NOW)).toMatchObject({
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
    const verdict = evaluate(fault.apply(goodEvidence(channel)), NOW);
    expect(verdict.distributable).toBe(false);
    expect(verdict.reason).toBe(fault.reason);
    expect(verdict.message).not.toBe('');
    const decisive = verdict.checks.find((check) => !check.ok);
    expect(decisive).toMatchObject({ reason: verdict.reason, message: verdict.message });
  });
});

test('the message names entries and how many more there are', () => {
  const evidence = withSnapshot({ damaged: { count: 12, examples: ['a/b', 'c'] } })(goodEvidence('official'));
  expect(evaluate(evidence, NOW).message).toContain('12 entries: a/b, c and 10 more');
});

test('the clock skew that is allowed, and the last instant of validity', () => {
  const early = withStatement(() => ({ issued_at: GOOD_AT + 60 }))(goodEvidence('official'));
  expect(evaluate(early, NOW).distributable).toBe(true);
  expect(evaluate(early, NOW - 1).reason).toBe('AttestationNotYetValid');
  const end = verifiedAttestation().statement.expires_at * 1000;
  expect(evaluate(goodEvidence('official'), end - 1).distributable).toBe(true);
  expect(evaluate(goodEvidence('official'), end).reason).toBe('AttestationExpired');
});

const anyChannel = fc.constantFrom(...CHANNELS);
const anyFaults = fc.subarray([...FAULTS]);

test('property: distributable exactly when no check fails; the first failure decides; it is pure', () => {
  fc.assert(
    fc.property(anyChannel, anyFaults, (channel, faults) => {
      const applied = faults.filter((fault) => fault.channels.includes(channel));
      const evidence = applied.reduce((current, fault) => fault.apply(current), goodEvidence(channel));
      const verdict = evaluate(evidence, NOW);
      expect(verdict.distributable).toBe(applied.length === 0);
      expect(verdict.distributable).toBe(verdict.checks.every((check) => check.ok));
      expect(verdict.reason).toBe(verdict.checks.find((check) => !check.ok)?.reason ?? null);
      expect(evaluate(evidence, NOW)).toEqual(verdict);
    }),
    { numRuns: 1000 },
  );
});

test('property: more that is wrong never makes it right', () => {
  fc.assert(
    fc.property(anyChannel, anyFaults, anyFaults, (channel, faults, more) => {
      const apply = (list: readonly Fault[]): Evidence =>
        list
          .filter((fault) => fault.channels.includes(channel))
          .reduce((current, fault) => fault.apply(current), goodEvidence(channel));
      if (evaluate(apply(faults), NOW).distributable) return;
      expect(evaluate(apply([...faults, ...more]), NOW).distributable).toBe(false);
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
      let previous = evaluate(goodEvidence('official'), nowMs);
      for (const { fault, seconds } of steps) {
        nowMs += seconds * 1000;
        const applies = fault?.channels.includes('official') === true;
        const evidence = applies ? fault.apply(goodEvidence('official')) : goodEvidence('official');
        const verdict = evaluate({ ...evidence, previous }, nowMs);
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

test('a switch to another release begins a new "since" although both are distributable', () => {
  const first = evaluate(goodEvidence('official'), NOW);
  const attested = attestedRelease('o9');
  const switched = evaluate(
    {
      ...withStatement(() => ({ official: attested }))(goodEvidence('official')),
      snapshot: {
        ...(goodEvidence('official').snapshot ?? fail()),
        release_id: releaseIdOf('o9'),
        snapshot_id: attested.snapshot_id,
      },
      previous: first,
    },
    NOW + 5000,
  );
  expect(switched).toMatchObject({ distributable: true, release_id: 'o9', since: NOW + 5000 });
});

function fail(): never {
  throw new Error('the good evidence has a snapshot');
}
