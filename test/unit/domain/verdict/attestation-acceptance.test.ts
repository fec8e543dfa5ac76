import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  acceptAttestation,
  type AcceptanceState,
} from '../../../../src/domain/verdict/attestation-acceptance.ts';
import type { VerifiedAttestation } from '../../../../src/domain/verdict/attestation.ts';
import type { Reason } from '../../../../src/domain/verdict/reasons.ts';
import { GOOD_AT, verifiedAttestation } from '../../../support/evidence.ts';

const NOW = GOOD_AT * 1000;
const fresh: AcceptanceState = { storeId: 'store-1', accepted: null, highestVersion: 0 };
const held: AcceptanceState = { storeId: 'store-1', accepted: verifiedAttestation(), highestVersion: 7 };

test('the first valid one is new, the same one again is not', () => {
  expect(acceptAttestation(verifiedAttestation(), fresh, NOW)).toEqual({ ok: true, value: { isNew: true } });
  expect(acceptAttestation(verifiedAttestation(), held, NOW)).toEqual({ ok: true, value: { isNew: false } });
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
