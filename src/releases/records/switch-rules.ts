import { CHANNELS, type Channel } from '../../domain/release/channel.ts';
import type { ReleaseChange, ReleaseRepository } from './release-repository.ts';
import type { ReleaseRow } from './release-row.ts';
import { isStale, type ReleaseSituation } from './retention-rules.ts';
import type { ReleaseEvents } from '../../engine/events/release-events.ts';

interface PlannedChange {
  readonly release: ReleaseRow;
  readonly change: ReleaseChange;
}

interface SwitchPlan {
  readonly channel: Channel;
  readonly releaseId: string;
  readonly changes: readonly PlannedChange[];
  readonly after: ReleaseSituation;
}

/**
 * Plans which rows change when a release becomes current: the release itself, the one it replaces, and the localized
 * release whose base is, or is no longer, the current official one. The announcement of a localized release ends when its base is
 * no longer current. Pure: the statement is signed over `after` before any row is written.
 *
 * @param nowSeconds Unix seconds of the switch
 */
export function planSwitch(
  situation: ReleaseSituation,
  channel: Channel,
  releaseId: string,
  nowSeconds: number,
): SwitchPlan {
  const outgoing = situation.pointers[channel];
  const officialId = channel === 'official' ? releaseId : (situation.pointers.official?.release_id ?? null);
  const localizedId =
    channel === 'localized' ? releaseId : (situation.pointers.localized?.release_id ?? null);
  const outgoingId = outgoing?.release_id ?? null;
  const since =
    outgoing?.release_id === releaseId ? outgoing.since : nextSince(situation, channel, nowSeconds);
  const changes: PlannedChange[] = [];
  const releases = situation.releases.map((release): ReleaseRow => {
    const change: ReleaseChange = {
      ...pointerChange(release, { channel, releaseId, outgoingId, since }),
      ...staleChange(release, { officialId, localizedId, nowSeconds }),
    };
    if (Object.keys(change).length === 0) return release;
    changes.push({ release, change });
    return { ...release, ...change };
  });
  const pointer = releases.find((release) => release.channel === channel && release.release_id === releaseId);
  if (pointer === undefined) throw new Error(`release ${releaseId} of channel ${channel} is not registered`);
  return {
    channel,
    releaseId,
    changes,
    after: {
      releases,
      pointers: { ...situation.pointers, [channel]: { channel, release_id: pointer.release_id, since } },
      announced: situation.announced.filter((one) => {
        // Making the current release current again, after a repair, changes no plan.
        if (one.channel === channel) return outgoingId === releaseId;
        // A localized release may not become current on another official one.
        const row = releases.find(
          (each) => each.channel === one.channel && each.release_id === one.release_id,
        );
        return !isStale(row ?? { channel: one.channel, base_release_id: null }, officialId);
      }),
    },
  };
}

/**
 * The time at which the next release of a channel becomes current: now, but later than that of every release before it, also after
 * the clock was set back. Clients that compare dates would keep the release before.
 */
function nextSince({ releases, pointers }: ReleaseSituation, channel: Channel, nowSeconds: number): number {
  // The pointer is gone after a withdrawal.
  const earlier = releases
    .filter((release) => release.channel === channel)
    .map((one) => one.published_at ?? 0);
  return Math.max(nowSeconds, 1 + Math.max(pointers[channel]?.since ?? 0, ...earlier));
}

function pointerChange(
  release: ReleaseRow,
  to: {
    readonly channel: Channel;
    readonly releaseId: string;
    readonly outgoingId: string | null;
    readonly since: number;
  },
): ReleaseChange {
  if (release.channel !== to.channel) return {};
  if (release.release_id === to.releaseId) {
    const already = to.outgoingId === to.releaseId;
    return {
      state: 'current',
      published_at: already ? release.published_at : to.since,
      superseded_at: null,
    };
  }
  if (release.release_id !== to.outgoingId) return {};
  return {
    ...(release.state === 'damaged' ? {} : { state: 'superseded' as const }),
    // The same time as that of the new one, also where that is later than now: it tells which release was replaced.
    superseded_at: to.since,
    stale_since: null,
  };
}

function staleChange(
  release: ReleaseRow,
  to: {
    readonly officialId: string | null;
    readonly localizedId: string | null;
    readonly nowSeconds: number;
  },
): ReleaseChange {
  if (release.channel !== 'localized' || release.release_id !== to.localizedId) return {};
  const stale = isStale(release, to.officialId);
  if (stale === (release.stale_since !== null)) return {};
  return { stale_since: stale ? to.nowSeconds : null };
}

/**
 * Writes a planned switch: the changed rows, the pointer, the end of announcements and, if the pointer moved, the event that a release became
 * current. Call it inside a transaction.
 *
 * @param nowSeconds Unix seconds of the switch
 */
export function applySwitch(
  { releases, events }: { readonly releases: ReleaseRepository; readonly events: ReleaseEvents },
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
