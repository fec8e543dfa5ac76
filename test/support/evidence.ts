import type {
  AttestationStatement,
  AttestedRelease,
  VerifiedAttestation,
} from '../../src/domain/verdict/attestation.ts';
import type { SnapshotId } from '../../src/domain/release/digest.ts';
import { parseReleaseId, type ReleaseId } from '../../src/domain/release/release-id.ts';
import { NO_TROUBLE, type Evidence, type SnapshotEvidence } from '../../src/domain/verdict/verdict.ts';

/** The instant at which {@link goodEvidence} is good, Unix seconds. */
export const GOOD_AT = 1_800_000_000;

/** Text that is known to be a release id. */
export function releaseIdOf(text: string): ReleaseId {
  const id = parseReleaseId(text);
  if (!id.ok) throw new Error(id.error);
  return id.value;
}

/** A release that passed its verification. */
export function attestedRelease(id: string, changes: Partial<AttestedRelease> = {}): AttestedRelease {
  return {
    release_id: releaseIdOf(id),
    snapshot_id: `blake3:${id}` as SnapshotId,
    entry_count: 3,
    total_bytes: 1000,
    created_at: GOOD_AT - 5000,
    verified_at: GOOD_AT - 100,
    verification: 'full',
    result: 'PASSED',
    ...changes,
  };
}

/** An accepted attestation of version 7 with an official release `o1` and a localized `l1` made from it. */
export function verifiedAttestation(changes: Partial<AttestationStatement> = {}): VerifiedAttestation {
  const statement: AttestationStatement = {
    version: 7,
    issued_at: GOOD_AT - 60,
    expires_at: GOOD_AT + 600,
    store_id: 'store-1',
    verifier: { id: 'slipway-daemon', version: '1', boot_id: 'boot' },
    official: attestedRelease('o1'),
    localized: attestedRelease('l1', { base_release_id: releaseIdOf('o1') }),
    retained: [],
    previous_payload_sha256: null,
    ...changes,
  };
  return { statement, payloadSha256: JSON.stringify(statement), signedBy: ['key'] };
}

/** The snapshot of a release, complete and sound. */
export function snapshotEvidence(id: string, changes: Partial<SnapshotEvidence> = {}): SnapshotEvidence {
  const { release_id, snapshot_id, entry_count } = attestedRelease(id);
  return {
    release_id,
    snapshot_id,
    manifest: 'ok',
    manifestMessage: '',
    entryCount: entry_count,
    missing: NO_TROUBLE,
    damaged: NO_TROUBLE,
    ...changes,
  };
}

/** Evidence on which a channel is distributable at {@link GOOD_AT}. */
export function goodEvidence(channel: Evidence['channel']): Evidence {
  return {
    channel,
    attestation: { accepted: verifiedAttestation(), highestVersion: 7, rejection: null },
    snapshot: snapshotEvidence(channel === 'official' ? 'o1' : 'l1'),
    previous: null,
  };
}
