import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { keyIdOf, type TrustedKey } from '../../../../src/attestation/keys.ts';
import { failure, success, type Result } from '../../../../src/domain/result.ts';
import { createTrustedKeyRing } from '../../../../src/server/serving/trusted-key-ring.ts';
import type { VerifiedAttestation } from '../../../../src/domain/verdict/attestation.ts';
import type { Refusal } from '../../../../src/domain/verdict/attestation-acceptance.ts';
import { highestVersion, NO_EVIDENCE, type Evidence } from '../../../../src/domain/verdict/evidence.ts';
import { reduce } from '../../../../src/domain/verdict/reduce.ts';
import { verifiedAttestation } from '../../../support/evidence.ts';

function key(): TrustedKey {
  const { publicKey } = generateKeyPairSync('ed25519');
  return { keyId: keyIdOf(publicKey), publicKey };
}

describe('the ring of trusted keys', () => {
  it('follows its files, keeps the last good keys, and reports each problem once', async () => {
    const [one, two] = [key(), key()];
    let found: Result<readonly TrustedKey[], readonly string[]> = success([one]);
    const log: string[] = [];
    const note = (_fields: unknown, message?: string): void => {
      log.push(message ?? String(_fields));
    };
    const ring = createTrustedKeyRing({
      first: [one],
      load: async () => found,
      logger: { info: note, warn: note, error: note },
    });
    expect(await ring.refresh()).toBe(false);
    found = success([two, one]);
    expect([await ring.refresh(), ring.current()]).toEqual([true, [two, one]]);
    found = failure(['x.pub: is empty']);
    expect([await ring.refresh(), await ring.refresh(), ring.current()]).toEqual([false, false, [two, one]]);
    found = success([two]);
    expect([await ring.refresh(), ring.current()]).toEqual([true, [two]]);
    expect(log).toEqual([
      'the trusted public keys have changed',
      'the trusted public keys cannot be reloaded; the previous ones stay in use',
      'the trusted public keys are readable again',
      'the trusted public keys have changed',
    ]);
  });
});

describe('an accepted attestation', () => {
  it('is void with its version exactly when no trusted key signed it', () => {
    let trusted = ['leaked', 'good'];
    let next = { version: 1_000_000, signers: ['leaked', 'good'] };
    const verify = (): Result<VerifiedAttestation, Refusal> => {
      const signedBy = next.signers.filter((id) => trusted.includes(id));
      return signedBy.length === 0
        ? failure({ reason: 'AttestationInvalid', message: 'by nobody' })
        : success({
            ...verifiedAttestation({ version: next.version, store_id: 's', issued_at: 0, expires_at: 1000 }),
            signedBy,
          });
    };
    const envelope = Buffer.of();
    const offer = (evidence: Evidence, at: number): Evidence =>
      reduce(evidence, { type: 'envelope-offered', at, envelope, verified: verify() });
    const observeKeys = (evidence: Evidence, at: number): Evidence =>
      reduce(evidence, { type: 'keys-observed', at, keyIds: trusted, newest: verify() });
    let evidence = observeKeys(NO_EVIDENCE, 0);
    evidence = reduce(evidence, { type: 'volume-observed', at: 0, volume: { ok: true, storeId: 's' } });
    evidence = offer(evidence, 0);
    expect([evidence.newest?.statement.version, evidence.rejection]).toEqual([1_000_000, null]);
    trusted = ['good'];
    evidence = observeKeys(evidence, 4);
    expect([evidence.newest?.signedBy, highestVersion(evidence)]).toEqual([['good'], 1_000_000]);
    trusted = ['new'];
    evidence = observeKeys(evidence, 5);
    expect([evidence.newest, highestVersion(evidence)]).toEqual([null, 0]);
    expect(evidence.rejection).toEqual({ reason: 'AttestationInvalid', message: 'by nobody', at: 5 });
    next = { version: 7, signers: ['new'] };
    evidence = offer(evidence, 10);
    expect([evidence.newest?.statement.version, evidence.rejection]).toEqual([7, null]);
  });
});
