import type { Channel } from '../release/channel.ts';
import type { SnapshotId } from '../release/digest.ts';
import type { ReleaseId } from '../release/release-id.ts';
import type {
  AttestationStatement,
  AttestedRelease,
  CurrentAttestedRelease,
  RetainedRelease,
} from './attestation.ts';
import {
  snapshotTrouble,
  type Evidence,
  type ReadManifest,
  type SnapshotEvidence,
  type SnapshotTrouble,
} from './evidence.ts';
import { attestationFor, isNamed } from './effective-attestation.ts';

/** The release to judge: the current one of a channel, or exactly this one, current or retained. */
export interface Subject {
  readonly channel: Channel;
  readonly release?: { readonly release_id: ReleaseId; readonly snapshot_id: SnapshotId };
}

export interface ReleaseEvidence {
  readonly evidence: Evidence;
  readonly subject: Subject;
  /** The attestation that answers for the release. */
  readonly statement: AttestationStatement | null;
  /** The release as that attestation names it, also when it withdraws it. */
  readonly named: CurrentAttestedRelease | RetainedRelease | null;
  /** The same when the attestation says that it passed its verification. */
  readonly authorized: CurrentAttestedRelease | RetainedRelease | null;
  /** The snapshot of the authorized release; `null` while it is not read, or cannot be read from the volume now. */
  readonly snapshot: SnapshotEvidence | null;
  /** What is wrong with the entries and the document; `null` without a manifest to name the entries. */
  readonly trouble: SnapshotTrouble | null;
}

/** Selects the evidence on one release. */
export function releaseEvidence(evidence: Evidence, subject: Subject): ReleaseEvidence {
  const { statement, named } = findRelease(evidence, subject);
  const authorized = named?.result === 'PASSED' ? named : null;
  const snapshot =
    authorized === null || !evidence.volume.ok ? undefined : evidence.snapshots.get(authorized.snapshot_id);
  const trouble =
    authorized === null || snapshot?.manifest !== 'ok'
      ? null
      : snapshotTrouble(evidence.damage, authorized.snapshot_id, snapshot.missing, authorized.server_info);
  return { evidence, subject, statement, named, authorized, snapshot: snapshot ?? null, trouble };
}

function findRelease(evidence: Evidence, { channel, release }: Subject) {
  const { effective, newest } = evidence;
  const isMeant = (named: AttestedRelease | null): boolean =>
    named?.release_id === release?.release_id && named?.snapshot_id === release?.snapshot_id;
  const statement = attestationFor(evidence, channel)?.statement ?? null;
  const current = statement?.[channel] ?? null;
  if (release === undefined || isMeant(current)) return { statement, named: current };
  const retained = effective?.statement.retained.find((each) => each.channel === channel && isMeant(each));
  const isKept =
    retained !== undefined &&
    (effective === newest || (newest !== null && isNamed(newest.statement, retained)));
  return isKept ? { statement: effective?.statement ?? null, named: retained } : { statement, named: null };
}

/** Unix seconds after which a release must no longer be served; `null` for a current one. */
export function retainedUntil(release: AttestedRelease | RetainedRelease): number | null {
  return 'retained_until' in release ? release.retained_until : null;
}

/** Whether a manifest is the one of the release that an attestation names. */
export function isManifestOf(
  manifest: ReadManifest,
  { channel }: Subject,
  { release_id }: AttestedRelease,
): boolean {
  return manifest.channel === channel && manifest.release_id === release_id;
}
