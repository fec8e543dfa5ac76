import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHANNELS, type Channel } from '../../../src/domain/release/channel.ts';
import type { Blake3Hex } from '../../../src/domain/release/digest.ts';
import { failure, success } from '../../../src/domain/result.ts';
import {
  acceptAttestation,
  type AcceptanceState,
} from '../../../src/domain/verdict/attestation-acceptance.ts';
import type { AttestedRelease, VerifiedAttestation } from '../../../src/domain/verdict/attestation.ts';
import { authorizedReleases, wantedSnapshots } from '../../../src/domain/verdict/effective-attestation.ts';
import { evaluate, steadyInterval } from '../../../src/domain/verdict/evaluate.ts';
import type { EvidenceEvent } from '../../../src/domain/verdict/evidence-event.ts';
import {
  highestVersion,
  NO_EVIDENCE,
  NO_TROUBLE,
  type Evidence,
  type FoundDamage,
} from '../../../src/domain/verdict/evidence.ts';
import type { Reason } from '../../../src/domain/verdict/reasons.ts';
import { reduce } from '../../../src/domain/verdict/reduce.ts';
import {
  attestedRelease,
  GOOD_AT,
  readManifest,
  releaseIdOf,
  verifiedAttestation,
} from '../../support/evidence.ts';

const NOW = GOOD_AT * 1000;

const fresh: AcceptanceState = { storeId: 'store-1', accepted: null, highestVersion: 0 };
const held: AcceptanceState = { storeId: 'store-1', accepted: verifiedAttestation(), highestVersion: 7 };

describe('the acceptance of an attestation', () => {
  test('the first valid one is new, the same one again is not', () => {
    expect(acceptAttestation(verifiedAttestation(), fresh, NOW)).toEqual({
      ok: true,
      value: { isNew: true },
    });
    expect(acceptAttestation(verifiedAttestation(), held, NOW)).toEqual({
      ok: true,
      value: { isNew: false },
    });
    expect(acceptAttestation(verifiedAttestation({ version: 8 }), held, NOW)).toEqual({
      ok: true,
      value: { isNew: true },
    });
  });

  describe('a refusal names its reason', () => {
    test.each<[string, Partial<VerifiedAttestation['statement']>, Reason]>([
      ['another store', { version: 8, store_id: 'store-2' }, 'AttestationInvalid'],
      ['an older version', { version: 6 }, 'AttestationRolledBack'],
      [
        'the same version with other contents',
        { retained: [], expires_at: GOOD_AT + 601 },
        'AttestationInvalid',
      ],
      ['the future', { version: 8, issued_at: GOOD_AT + 61 }, 'AttestationNotYetValid'],
      ['the past', { version: 8, expires_at: GOOD_AT }, 'AttestationExpired'],
      ['another store first of all', { version: 1, store_id: 'x', expires_at: 0 }, 'AttestationInvalid'],
      ['a rollback before its expiry', { version: 1, expires_at: 0 }, 'AttestationRolledBack'],
    ])('%s', (_name, changes, reason) => {
      const result = acceptAttestation(verifiedAttestation(changes), held, NOW);
      if (result.ok) throw new Error('it was accepted');
      expect(result.error.reason).toBe(reason);
      expect(result.error.message).not.toBe('');
    });
  });

  test('a version from before a restart of the refresh is the minimum even when none is held', () => {
    const result = acceptAttestation(verifiedAttestation(), { ...fresh, highestVersion: 9 }, NOW);
    expect(result).toMatchObject({ ok: false, error: { reason: 'AttestationRolledBack' } });
  });

  test('property: over any sequence the accepted version never falls, and always belongs to a valid attestation', () => {
    const candidate = fc.record({
      version: fc.integer({ min: 1, max: 12 }),
      store_id: fc.constantFrom('store-1', 'store-1', 'store-2'),
      issued_at: fc.integer({ min: GOOD_AT - 500, max: GOOD_AT + 200 }),
      expires_at: fc.integer({ min: GOOD_AT - 200, max: GOOD_AT + 900 }),
    });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(candidate, fc.integer({ min: 0, max: 60 })), { maxLength: 20 }),
        (steps) => {
          let state = fresh;
          let nowSeconds = GOOD_AT;
          for (const [changes, seconds] of steps) {
            nowSeconds += seconds;
            const attestation = verifiedAttestation(changes);
            const result = acceptAttestation(attestation, state, nowSeconds * 1000);
            if (!result.ok || !result.value.isNew) continue;
            expect(changes.store_id).toBe('store-1');
            expect(changes.version).toBeGreaterThan(state.highestVersion);
            expect(changes.expires_at).toBeGreaterThan(nowSeconds);
            expect(changes.issued_at).toBeLessThanOrEqual(nowSeconds + 60);
            state = { storeId: fresh.storeId, accepted: attestation, highestVersion: changes.version };
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

const OFFICIAL = ['o1', 'o2', 'o3'] as const;
const DIGESTS = ['a', 'b', 'c'].map((letter) => letter.repeat(64) as Blake3Hex);

const snapshotOf = (id: string): AttestedRelease['snapshot_id'] => attestedRelease(id).snapshot_id;

/** Freezes everything that is reachable, so that a write throws. */
function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value) || ArrayBuffer.isView(value))
    return;
  if (value instanceof Map) {
    const readOnly = (): never => {
      throw new Error('a map of the evidence was changed');
    };
    Object.assign(value, { set: readOnly, delete: readOnly, clear: readOnly });
    for (const [key, item] of value) [key, item].forEach(deepFreeze);
  }
  Object.freeze(value);
  Object.values(value).forEach(deepFreeze);
}

const release = fc
  .record({
    id: fc.constantFrom(...OFFICIAL),
    result: fc.constantFrom('PASSED' as const, 'PASSED' as const, 'FAILED' as const),
  })
  .map(({ id, result }) => attestedRelease(id, { result }));

const localized = fc
  .constantFrom(...OFFICIAL)
  .map((base) => attestedRelease('l1', { base_release_id: releaseIdOf(base) }));

const attestation: fc.Arbitrary<VerifiedAttestation> = fc
  .record({
    store_id: fc.constantFrom('store-1', 'store-1', 'store-1', 'store-2'),
    issued_at: fc.integer({ min: GOOD_AT - 100, max: GOOD_AT + 150 }),
    life: fc.integer({ min: 1, max: 600 }),
    official: fc.option(release),
    localized: fc.option(localized),
    retained: fc.array(
      fc.record({ id: fc.constantFrom(...OFFICIAL), until: fc.integer({ min: -50, max: 200 }) }),
      { maxLength: 2 },
    ),
  })
  .map(({ life, retained, ...fields }) =>
    verifiedAttestation({
      ...fields,
      expires_at: fields.issued_at + life,
      retained: retained.map(({ id, until }) => ({
        ...attestedRelease(id),
        channel: 'official' as const,
        retained_until: GOOD_AT + until,
      })),
    }),
  );

const found = fc
  .record({
    blake3: fc.constantFrom(...DIGESTS),
    kind: fc.constantFrom('missing' as const, 'damaged' as const),
    holders: fc.subarray([...OFFICIAL, 'l1'], { minLength: 1 }),
  })
  .map(({ blake3, kind, holders }): FoundDamage => ({
    report: { blake3, kind, destination: blake3, message: 'bad' },
    holders: new Map(holders.map((id) => [snapshotOf(id), { count: 1, examples: [blake3] }])),
  }));

const snapshotBound = fc
  .record({
    id: fc.constantFrom(...OFFICIAL, 'l1' as const),
    outcome: fc.constantFrom('ok' as const, 'ok' as const, 'ok' as const, 'missing' as const),
  })
  .map(({ id, outcome }) => ({
    type: 'snapshot-bound' as const,
    snapshotId: snapshotOf(id),
    snapshot:
      outcome === 'ok'
        ? readManifest(id === 'l1' ? 'localized' : 'official', id)
        : { manifest: outcome, message: 'gone' },
    damage: new Map(),
  }));

type Happening = EvidenceEvent extends infer E ? (E extends unknown ? Omit<E, 'at'> : never) : never;

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 4, arbitrary: attestation.map((offered) => envelopeOffered(offered)) },
  { weight: 4, arbitrary: snapshotBound },
  fc.constant({
    type: 'envelope-offered' as const,
    envelope: Buffer.of(),
    verified: failure({ reason: 'AttestationInvalid' as const, message: 'bad' }),
  }),
  fc.option(fc.constantFrom('store-1', 'store-1', 'store-1', 'store-2')).map((storeId) => ({
    type: 'volume-observed' as const,
    volume: storeId === null ? { ok: false as const, message: 'absent' } : { ok: true as const, storeId },
  })),
  fc
    .array(found, { minLength: 1, maxLength: 3 })
    .map((all) => ({ type: 'damage-found' as const, found: all })),
  fc.subarray([...DIGESTS]).map((digests) => ({ type: 'damage-repaired' as const, digests })),
  fc.constant({
    type: 'keys-observed' as const,
    keyIds: [],
    newest: failure({ reason: 'AttestationInvalid' as const, message: 'by nobody' }),
  }),
  fc.constant({ type: 'time-passed' as const }),
);

/** Any sequence of events after a good start. Versions mostly rise; time stands still, jumps ahead or goes back. */
const course = fc
  .array(
    fc.record({
      event: happening,
      seconds: fc.integer({ min: -3, max: 20 }),
      lead: fc.integer({ min: -2, max: 2 }),
    }),
    { maxLength: 25 },
  )
  .map((steps) => {
    let at = NOW;
    const later = steps.map(({ event, seconds, lead }, step): EvidenceEvent => {
      at += seconds < 0 ? -50_000 : seconds * 1000;
      if (event.type !== 'envelope-offered' || !event.verified.ok) return { ...event, at };
      const { value } = event.verified;
      const statement = { ...value.statement, version: 8 + step + lead };
      return {
        ...event,
        at,
        verified: success({ ...value, statement, payloadSha256: JSON.stringify(statement) }),
      };
    });
    return [...GOOD_START.map((event) => ({ ...event, at: NOW })), ...later];
  });

function envelopeOffered(verified: VerifiedAttestation): Happening {
  return { type: 'envelope-offered', envelope: Buffer.of(), verified: success(verified) };
}

/** Runs a sequence and checks each step: the evidence before, the event, the evidence after. */
function follow(
  events: readonly EvidenceEvent[],
  look: (before: Evidence, event: EvidenceEvent, after: Evidence) => void = () => undefined,
): Evidence {
  return events.reduce((before, event) => {
    const after = reduce(before, event);
    look(before, event, after);
    return after;
  }, NO_EVIDENCE);
}

function boundEvent(id: string, channel: Channel = 'official'): Happening {
  return {
    type: 'snapshot-bound',
    snapshotId: snapshotOf(id),
    snapshot: readManifest(channel, id),
    damage: new Map(),
  };
}

const GOOD_START: readonly Happening[] = [
  { type: 'volume-observed', volume: { ok: true, storeId: 'store-1' } },
  envelopeOffered(verifiedAttestation()),
  boundEvent('o1'),
  boundEvent('l1', 'localized'),
];

function serving(...more: readonly Happening[]): Evidence {
  return follow([...GOOD_START, ...more].map((event) => ({ ...event, at: NOW })));
}

describe('the evidence of a server', () => {
  test('property: reduce changes neither the evidence nor the event, and repeats its result', () => {
    fc.assert(
      fc.property(course, (events) => {
        deepFreeze(NO_EVIDENCE);
        follow(events, (before, event, after) => {
          deepFreeze(event);
          deepFreeze(after);
          expect(reduce(before, event)).toEqual(after);
        });
      }),
    );
  });

  test('property: nothing withdrawn, expired, rolled back, damaged or of another store is distributable', () => {
    let distributable = 0;
    fc.assert(
      fc.property(course, (events) => {
        follow(events, (_, { at }, after) => {
          for (const channel of CHANNELS) {
            const verdict = evaluate(after, { channel }, at);
            if (!verdict.distributable) continue;
            distributable += 1;
            const { newest, volume, snapshots, damage } = after;
            const { release_id, snapshot_id, attestation: speaks } = verdict;
            expect(newest?.statement.store_id).toBe(volume.ok ? volume.storeId : null);
            expect(newest?.statement.version).toBe(highestVersion(after));
            expect(newest?.statement[channel]?.result).toBe('PASSED');
            expect(speaks?.expires_at).toBeGreaterThan(at / 1000);
            expect(speaks?.issued_at).toBeLessThanOrEqual(at / 1000 + 60);
            if (snapshot_id === null) throw new Error('a distributable verdict names its snapshot');
            expect(snapshots.get(snapshot_id)).toMatchObject({ manifest: 'ok', channel, release_id });
            for (const { holders } of damage.values()) expect(holders.has(snapshot_id)).toBe(false);
          }
        });
      }),
      { numRuns: 1000 },
    );
    expect(distributable).toBeGreaterThan(1000);
  });

  test('property: a retained release is distributable only inside its time and while it is named', () => {
    let distributable = 0;
    fc.assert(
      fc.property(course, (events) => {
        follow(events, (_, { at }, after) => {
          for (const retained of after.effective?.statement.retained ?? []) {
            const { release_id, snapshot_id } = retained;
            const verdict = evaluate(after, { channel: 'official', release: retained }, at);
            if (!verdict.distributable || after.effective?.statement.official?.release_id === release_id)
              continue;
            distributable += 1;
            expect(
              after.effective?.statement.retained.some(
                (each) => each.release_id === release_id && each.retained_until * 1000 > at,
              ),
            ).toBe(true);
            const named = after.newest === null ? [] : authorizedReleases(after.newest.statement);
            expect(named.map((each) => each.release_id)).toContain(release_id);
            expect(after.snapshots.get(snapshot_id)?.manifest).toBe('ok');
          }
        });
      }),
      { numRuns: 1000 },
    );
    expect(distributable).toBeGreaterThan(20);
  });

  test('property: the accepted version never falls while the store and the keys stay', () => {
    fc.assert(
      fc.property(course, (events) => {
        follow(
          events.filter(({ type }) => type !== 'keys-observed'),
          (before, _, after) => {
            if (before.storeId !== after.storeId) return;
            expect(highestVersion(after)).toBeGreaterThanOrEqual(highestVersion(before));
          },
        );
      }),
    );
  });

  test('property: only wanted snapshots are kept', () => {
    fc.assert(
      fc.property(course, (events) => {
        follow(events, (_, __, after) => {
          expect(wantedSnapshots(after).isSupersetOf(new Set(after.snapshots.keys()))).toBe(true);
        });
      }),
    );
  });

  test('property: time alone changes no verdict inside the steady interval', () => {
    fc.assert(
      fc.property(course, fc.integer({ min: -400_000, max: 400_000 }), (events, offset) => {
        follow(events, (_, { at }, after) => {
          const { from, until } = steadyInterval(after, at);
          const later = Math.min(Math.max(at + offset, from), until - 1);
          const retained = after.effective?.statement.retained ?? [];
          const subjects = [
            ...CHANNELS.map((channel) => ({ channel })),
            ...retained.map((each) => ({ channel: each.channel, release: each })),
          ];
          for (const subject of subjects) {
            const { since: _since, ...verdict } = evaluate(after, subject, at);
            expect(evaluate(after, subject, later)).toMatchObject(verdict);
          }
        });
      }),
    );
  });

  describe('damage', () => {
    const damage = (letter: string, kind: 'missing' | 'damaged' = 'damaged'): FoundDamage => ({
      report: { blake3: letter.repeat(64) as Blake3Hex, kind, destination: letter, message: 'bad' },
      holders: new Map([[snapshotOf('o1'), { count: 1, examples: [letter] }]]),
    });

    test('property: the order of reports and repairs of different digests makes no difference', () => {
      const letters = ['a', 'b', 'c', 'd', 'e', 'f'];
      const history = fc.record({ letter: fc.constantFrom(...letters), repaired: fc.boolean() });
      fc.assert(
        fc.property(
          fc.uniqueArray(history, { selector: ({ letter }) => letter }),
          fc.infiniteStream(fc.nat()),
          (histories, choices) => {
            const eventsOf = ({ letter, repaired }: { letter: string; repaired: boolean }): Happening[] => [
              { type: 'damage-found', found: [damage(letter)] },
              ...(repaired
                ? [{ type: 'damage-repaired' as const, digests: [letter.repeat(64) as Blake3Hex] }]
                : []),
            ];
            const queues = histories.map(eventsOf);
            const mixed: Happening[] = [];
            for (const choice of choices) {
              const open = queues.filter((queue) => queue.length > 0);
              const next = open[choice % Math.max(open.length, 1)]?.shift();
              if (next === undefined) break;
              mixed.push(next);
            }
            const straight = serving(...histories.flatMap(eventsOf));
            const shuffled = serving(...mixed);
            expect(new Set(shuffled.damage.keys())).toEqual(new Set(straight.damage.keys()));
            expect(shuffled.verdicts.official?.reason).toBe(straight.verdicts.official?.reason);
            const left = histories.filter(({ repaired }) => !repaired);
            expect(straight.verdicts.official?.distributable).toBe(left.length === 0);
          },
        ),
      );
    });

    test('counts once, and changes its kind', () => {
      const found = (kind: 'missing' | 'damaged'): Happening => ({
        type: 'damage-found',
        found: [damage('a', kind)],
      });
      expect(serving(found('damaged'), found('damaged')).verdicts.official?.message).toContain('1 entry: a');
      expect(serving(found('damaged'), found('missing')).verdicts.official?.reason).toBe('EntryMissing');
    });

    test('of one release takes no room from the first damage of another', () => {
      const foundIn = (id: string, count: number, prefix: string): Happening => ({
        type: 'damage-found',
        found: Array.from({ length: count }, (_, at): FoundDamage => {
          const blake3 = `${prefix}${at}`.padEnd(64, 'f') as Blake3Hex;
          return {
            report: { blake3, kind: 'damaged', destination: blake3, message: 'bad' },
            holders: new Map([[snapshotOf(id), { count: 1, examples: [blake3] }]]),
          };
        }),
      });
      const crowded = [foundIn('l1', 10_001, 'a')];
      expect(serving(...crowded).verdicts.official?.distributable).toBe(true);
      const both = serving(...crowded, foundIn('o1', 3, 'b'));
      expect([both.damage.size, both.verdicts.official?.reason]).toEqual([10_001, 'EntryDamaged']);
    });

    test('is dropped when nothing that is served holds it', () => {
      const { report } = damage('a');
      const evidence = serving({ type: 'damage-found', found: [{ report, holders: new Map() }] });
      expect([evidence.damage.size, evidence.verdicts.official?.distributable]).toEqual([0, true]);
    });

    test('of a snapshot that is read again is replaced by the result of that read', () => {
      const again: Happening = {
        type: 'snapshot-bound',
        snapshotId: snapshotOf('o1'),
        snapshot: readManifest('official', 'o1', { missing: { count: 1, examples: ['a'] } }),
        damage: new Map([[damage('a').report.blake3, NO_TROUBLE]]),
      };
      const evidence = serving({ type: 'damage-found', found: [damage('a')] }, again);
      expect(evidence.damage.size).toBe(1);
      expect(evidence.verdicts.official).toMatchObject({
        reason: 'EntryMissing',
        message: 'no usable object for 1 entry: a',
      });
    });
  });

  describe('a switch of releases', () => {
    const next = (changes: Parameters<typeof verifiedAttestation>[0] = {}): Happening =>
      envelopeOffered(
        verifiedAttestation({ version: 8, official: attestedRelease('o2'), localized: null, ...changes }),
      );

    test('lasts until the next release is read', () => {
      const held = serving(next());
      expect(held.verdicts.official).toMatchObject({ distributable: true, release_id: 'o1' });
      expect(held.verdicts.localized?.reason).toBe('ReleaseNotAuthorized');
      const switched = serving(next(), boundEvent('o2'));
      expect(switched.verdicts.official).toMatchObject({ distributable: true, release_id: 'o2' });
      expect(switched.effective).toBe(switched.newest);
    });

    test('ends at the first failure of the older release, and does not return', () => {
      const blake3 = DIGESTS[0]!;
      const holders = new Map([[snapshotOf('o1'), { count: 1, examples: ['a'] }]]);
      const report = { blake3, kind: 'damaged', destination: 'a', message: 'bad' } as const;
      const damaged: Happening = { type: 'damage-found', found: [{ report, holders }] };
      expect(serving(next(), damaged).verdicts.official?.reason).toBe('SnapshotLoading');
      const repaired: Happening = { type: 'damage-repaired', digests: [blake3] };
      expect(serving(next(), damaged, repaired).verdicts.official?.reason).toBe('SnapshotLoading');
    });

    test('survives an additional trusted key, and ends with the key that signed the older one', () => {
      const { newest } = serving(next());
      if (newest === null) throw new Error('the attestation is accepted');
      const observed = (keyIds: readonly string[]): Happening => ({
        type: 'keys-observed',
        keyIds,
        newest: success({ ...newest, signedBy: ['other'] }),
      });
      expect(serving(next(), observed(['key', 'other'])).verdicts.official?.release_id).toBe('o1');
      expect(serving(next(), observed(['other'])).verdicts.official?.reason).toBe('SnapshotLoading');
    });
  });
});
