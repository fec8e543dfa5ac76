import type { Channel } from '../../../domain/release/channel.ts';
import type { Announcement, ReleaseChange } from './release-repository.ts';
import type { ReleaseRow } from './release-row.ts';
import { isStale, type ReleaseSituation } from './retention-rules.ts';

/** A change of one release that belongs to a switch. */
export interface PlannedChange {
  readonly release: ReleaseRow;
  readonly change: ReleaseChange;
}

/** A switch of the current release of one channel, and the situation it leads to. */
export interface SwitchPlan {
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
  const changes: PlannedChange[] = [];
  const releases = situation.releases.map((release): ReleaseRow => {
    const change: ReleaseChange = {
      ...pointerChange(release, { channel, releaseId, outgoingId: outgoing?.release_id ?? null, nowSeconds }),
      ...staleChange(release, { officialId, localizedId, nowSeconds }),
    };
    if (Object.keys(change).length === 0) return release;
    changes.push({ release, change });
    return { ...release, ...change };
  });
  const since = outgoing?.release_id === releaseId ? outgoing.since : nowSeconds;
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
        if (one.channel === channel) return outgoing?.release_id === releaseId;
        // A localized release may not become current on another official one.
        return !isStale(announcedRow(releases, one), officialId);
      }),
    },
  };
}

function announcedRow(
  releases: readonly ReleaseRow[],
  { channel, release_id: id }: Announcement,
): Pick<ReleaseRow, 'channel' | 'base_release_id'> {
  const row = releases.find((release) => release.channel === channel && release.release_id === id);
  return row ?? { channel, base_release_id: null };
}

function pointerChange(
  release: ReleaseRow,
  to: {
    readonly channel: Channel;
    readonly releaseId: string;
    readonly outgoingId: string | null;
    readonly nowSeconds: number;
  },
): ReleaseChange {
  if (release.channel !== to.channel) return {};
  if (release.release_id === to.releaseId) {
    const already = to.outgoingId === to.releaseId;
    return {
      state: 'current',
      published_at: already ? release.published_at : to.nowSeconds,
      superseded_at: null,
    };
  }
  if (release.release_id !== to.outgoingId) return {};
  return {
    ...(release.state === 'damaged' ? {} : { state: 'superseded' as const }),
    superseded_at: to.nowSeconds,
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
