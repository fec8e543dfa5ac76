import type {
  AttestationStatement,
  CurrentAttestedRelease,
  VerifiedAttestation,
} from '../../src/domain/verdict/attestation.ts';
import type { Channel } from '../../src/domain/release/channel.ts';
import type { SnapshotId } from '../../src/domain/release/digest.ts';
import { parseReleaseId, type ReleaseId } from '../../src/domain/release/release-id.ts';
import {
  NO_EVIDENCE,
  NO_TROUBLE,
  type Evidence,
  type ReadManifest,
} from '../../src/domain/verdict/evidence.ts';

/** The instant at which {@link goodEvidence} is good, Unix seconds. */
export const GOOD_AT = 1_800_000_000;

/** Brands a text that is known to be a release id. */
export function releaseIdOf(text: string): ReleaseId {
  const id = parseReleaseId(text);
  if (!id.ok) throw new Error(id.error);
  return id.value;
}

/** A release that passed its verification. */
export function attestedRelease(
  id: string,
  changes: Partial<CurrentAttestedRelease> = {},
): CurrentAttestedRelease {
  return {
    release_id: releaseIdOf(id),
    snapshot_id: `blake3:${id}` as SnapshotId,
    entry_count: 3,
    total_bytes: 1000,
    created_at: GOOD_AT - 5000,
    current_since: GOOD_AT - 4000,
    verified_at: GOOD_AT - 100,
    verification: 'full',
    result: 'PASSED',
    server_info: null,
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
    stale_localized: null,
    retained: [],
    previous_payload_sha256: null,
    ...changes,
  };
  return { statement, payloadSha256: JSON.stringify(statement), signedBy: ['key'] };
}

/** The result of reading the snapshot of a release, complete and sound. */
export function readManifest(
  channel: Channel,
  id: string,
  changes: Partial<ReadManifest> = {},
): ReadManifest {
  const { release_id, entry_count } = attestedRelease(id);
  return { manifest: 'ok', channel, release_id, entryCount: entry_count, missing: NO_TROUBLE, ...changes };
}

/** Evidence on which both channels are distributable at {@link GOOD_AT}. */
export function goodEvidence(): Evidence {
  const attestation = verifiedAttestation();
  return {
    ...NO_EVIDENCE,
    volume: { ok: true, storeId: 'store-1' },
    storeId: 'store-1',
    highestVersions: new Map([['store-1', 7]]),
    newest: attestation,
    effective: attestation,
    snapshots: new Map([
      [attestedRelease('o1').snapshot_id, readManifest('official', 'o1')],
      [attestedRelease('l1').snapshot_id, readManifest('localized', 'l1')],
    ]),
  };
}
