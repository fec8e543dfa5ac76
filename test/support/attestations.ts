import { generateKeyPairSync } from 'node:crypto';
import { keyIdOf, type SigningKey, type TrustedKey } from '../../src/attestation/keys.ts';
import type {
  AttestationStatement,
  AttestedRelease,
  CurrentAttestedRelease,
} from '../../src/domain/verdict/attestation.ts';
import { snapshotIdOf, type Blake3Hex, type SnapshotId } from '../../src/domain/release/digest.ts';
import { parseReleaseId, type ReleaseId } from '../../src/domain/release/release-id.ts';

/** Both halves of a fresh key. */
export function createKeyPair(): { readonly signing: SigningKey; readonly trusted: TrustedKey } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const keyId = keyIdOf(publicKey);
  return { signing: { keyId, privateKey }, trusted: { keyId, publicKey } };
}

/** A release id, or an error for a test that writes a wrong one. */
export function releaseIdOf(text: string): ReleaseId {
  const parsed = parseReleaseId(text);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}

/** A snapshot id made of one repeated digit. */
export function sampleSnapshotId(digit: string): SnapshotId {
  return snapshotIdOf(digit.repeat(64) as Blake3Hex);
}

/** A release that passed. */
export function sampleRelease(id: string, digit: string): CurrentAttestedRelease {
  return { ...earlierRelease(id, digit), current_since: 1_763_650_000 };
}

/** A release that passed, and is not current. */
export function earlierRelease(id: string, digit: string): AttestedRelease {
  return {
    release_id: releaseIdOf(id),
    snapshot_id: sampleSnapshotId(digit),
    entry_count: 8123,
    total_bytes: 9_007_199_254_740_991,
    created_at: 1_763_600_000,
    verified_at: 1_763_680_000,
    verification: 'full',
    result: 'PASSED',
    server_info: null,
  };
}

/** A statement with a release of every kind. */
export function sampleStatement(changes: Partial<AttestationStatement> = {}): AttestationStatement {
  return {
    version: 1042,
    issued_at: 1_763_683_200,
    expires_at: 1_763_683_800,
    store_id: '5f0c1e0e-3c52-4b7e-9f0a-0d9a5a3f1c11',
    verifier: { id: 'https://slipway.dev/daemon', version: '0.1.0', boot_id: '01ARYZ6S41ZZZZZZZZZZZZZZZZ' },
    official: sampleRelease('r90_one', 'a'),
    localized: { ...sampleRelease('r90_one-zh.1', 'b'), base_release_id: releaseIdOf('r90_one') },
    stale_localized: null,
    retained: [{ ...earlierRelease('r89_old', 'c'), channel: 'official', retained_until: 1_763_700_000 }],
    previous_payload_sha256: 'd'.repeat(64),
    ...changes,
  };
}

/** SHA-256 digests for the manifests of {@link sampleRelease}. */
export const SAMPLE_MANIFEST_SHA256: ReadonlyMap<SnapshotId, string> = new Map(
  '0123456789abcdef'.split('').map((digit) => [sampleSnapshotId(digit), digit.repeat(64)]),
);
