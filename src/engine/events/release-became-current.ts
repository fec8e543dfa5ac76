import type { Channel } from '../../domain/release/channel.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';

/** A release became the current one of its channel, for any reason. */
export interface ReleaseBecameCurrent {
  readonly channel: Channel;
  readonly release_id: ReleaseId;
  readonly snapshot_id: SnapshotId;
  /** The current release before it; `null` when the channel had none. */
  readonly previous_release_id: ReleaseId | null;
  /** Unix seconds. */
  readonly at: number;
}
