import type { AttestedRelease } from '../../domain/verdict/attestation.ts';
import type { Channel } from '../../domain/release/channel.ts';
import { NO_TROUBLE, type SnapshotEvidence } from '../../domain/verdict/verdict.ts';
import type { BoundSnapshot } from './snapshot-binder.ts';
import type { VolumeState } from './snapshot-volume.ts';
import type { SnapshotTrouble } from './trouble.ts';

/** What this server knows of the snapshot behind an attested release. */
export interface SnapshotKnowledge {
  readonly volume: VolumeState;
  readonly snapshot: BoundSnapshot | null;
  /** Asked only when it matters. */
  readonly trouble: () => SnapshotTrouble;
}

/** Puts together what the verdict on a channel is told of its snapshot; `null` while it is not bound. */
export function snapshotEvidence(
  channel: Channel,
  { release_id, snapshot_id }: AttestedRelease,
  { volume, snapshot, trouble }: SnapshotKnowledge,
): SnapshotEvidence | null {
  const none = { entryCount: 0, missing: NO_TROUBLE, damaged: NO_TROUBLE };
  if (!volume.ok)
    return { release_id, snapshot_id, manifest: 'missing', manifestMessage: volume.message, ...none };
  if (snapshot === null) return null;
  const header = snapshot.index?.header;
  if (header !== undefined && (header.release_id !== release_id || header.channel !== channel)) {
    const manifestMessage = `the manifest is of ${header.channel} release ${header.release_id}, the attestation names ${channel} release ${release_id}`;
    return { release_id, snapshot_id, manifest: 'damaged', manifestMessage, ...none };
  }
  return {
    release_id,
    snapshot_id,
    manifest: snapshot.manifest,
    manifestMessage: snapshot.message,
    entryCount: snapshot.index?.length ?? 0,
    ...trouble(),
  };
}
