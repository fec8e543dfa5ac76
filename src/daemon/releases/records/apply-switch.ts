import { CHANNELS, type Channel } from '../../../domain/release/channel.ts';
import type { ReleaseEvents } from '../../events/release-events.ts';
import type { ReleaseRepository } from './release-repository.ts';
import type { SwitchPlan } from './switch-rules.ts';

/**
 * Writes a planned switch: the changed rows, the pointer, the end of announcements and, if the pointer moved, the event that a release became
 * current. Call it inside a transaction.
 *
 * @param nowSeconds Unix seconds of the switch
 */
export function applySwitch(
  {
    releases,
    events,
  }: { readonly releases: ReleaseRepository; readonly events: Pick<ReleaseEvents, 'append'> },
  { channel, releaseId, changes, after }: SwitchPlan,
  nowSeconds: number,
): void {
  for (const { release, change } of changes) releases.update(release.channel, release.release_id, change);
  for (const each of CHANNELS)
    if (after.announced.every((one) => one.channel !== each)) releases.clearAnnounced(each);
  const pointer = after.pointers[channel];
  if (pointer === null) return;
  const previous = releases.pointer(channel)?.release_id ?? null;
  releases.setPointer(channel, pointer.release_id, pointer.since);
  const snapshotId = releases.get(channel, releaseId)?.snapshot_id ?? null;
  if (previous === pointer.release_id || snapshotId === null) return;
  events.append({
    channel,
    release_id: pointer.release_id,
    snapshot_id: snapshotId,
    previous_release_id: previous,
    at: nowSeconds,
  });
}

/**
 * Leaves a channel without a current or announced release. The release that was current counts as superseded. Call it inside a transaction.
 *
 * @param nowSeconds Unix seconds of the withdrawal
 */
export function applyWithdrawal(releases: ReleaseRepository, channel: Channel, nowSeconds: number): void {
  releases.clearAnnounced(channel);
  // A localized release may not become current without its base.
  if (channel === 'official') releases.clearAnnounced('localized');
  const current = releases.current(channel);
  if (current === null) return;
  releases.update(channel, current.release_id, {
    ...(current.state === 'damaged' ? {} : { state: 'superseded' as const }),
    superseded_at: nowSeconds,
    stale_since: null,
  });
  releases.clearPointer(channel);
}
