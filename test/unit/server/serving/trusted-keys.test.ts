import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { keyIdOf, type TrustedKey } from '../../../../src/attestation/keys.ts';
import { failure, success, type Result } from '../../../../src/domain/result.ts';
import { createAttestationKeeper } from '../../../../src/server/serving/attestation-keeper.ts';
import { createTrustedKeyRing } from '../../../../src/server/serving/trusted-key-ring.ts';
import type { VerifiedAttestation } from '../../../../src/domain/verdict/attestation.ts';

function key(): TrustedKey {
  const { publicKey } = generateKeyPairSync('ed25519');
  return { keyId: keyIdOf(publicKey), publicKey };
}

describe('the ring of trusted keys', () => {
  it('follows its files, keeps the last good keys, and tells each problem once', async () => {
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
      'other public keys are trusted now',
      'the trusted public keys cannot be read again; the former ones still count',
      'the trusted public keys can be read again',
      'other public keys are trusted now',
    ]);
  });
});

describe('an accepted attestation', () => {
  it('is void with its version once no trusted key signed it, and only then', () => {
    let trusted = ['leaked', 'good'];
    let next = { version: 1_000_000, signers: ['leaked', 'good'] };
    const keeper = createAttestationKeeper({
      verify: () => {
        const signedBy = next.signers.filter((id) => trusted.includes(id));
        const statement = { version: next.version, store_id: 's', issued_at: 0, expires_at: 1000 };
        return signedBy.length === 0
          ? failure({ reason: 'AttestationInvalid', message: 'by nobody' })
          : success({
              statement,
              payloadSha256: `p${next.version}`,
              signedBy,
            } as unknown as VerifiedAttestation);
      },
    });
    keeper.verifyAgain(0);
    keeper.bindStore('s', 0);
    expect(keeper.offer(Buffer.of(), 0, '')).toBe('accepted');
    trusted = ['good'];
    keeper.verifyAgain(4);
    expect([keeper.accepted()?.signedBy, keeper.highestVersion()]).toEqual([['good'], 1_000_000]);
    trusted = ['new'];
    keeper.verifyAgain(5);
    expect([keeper.accepted(), keeper.highestVersion()]).toEqual([null, 0]);
    expect(keeper.rejection()).toEqual({ reason: 'AttestationInvalid', message: 'by nobody', at: 5 });
    next = { version: 7, signers: ['new'] };
    expect([keeper.offer(Buffer.of(), 10, ''), keeper.rejection()]).toEqual(['accepted', null]);
  });
});
