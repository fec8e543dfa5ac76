import { CHANNELS, type Channel } from '../../domain/release/channel.ts';
import { announcedRelease, hasSwitched, isAnnounced, releaseAt } from '../../domain/verdict/announced.ts';
import type {
  AttestationStatement,
  AttestedRelease,
  RetainedRelease,
} from '../../domain/verdict/attestation.ts';
import type { SourceRelease } from '../../mirror/attested-source.ts';
import type { Announcement, ReleaseRepository } from '../records/release-repository.ts';
import { isKept, type ReleaseRow } from '../records/release-row.ts';

/** The step of one channel that makes an edge equal to its origin. */
export type MirrorStep =
  | { readonly kind: 'none' }
  /** The release cannot be copied now, for example because its files are damaged at the origin: the edge keeps its own. */
  | { readonly kind: 'wait'; readonly message: string }
  | { readonly kind: 'withdraw' }
  | { readonly kind: 'follow'; readonly release: SourceRelease };

interface MirroredChannel {
  readonly channel: Channel;
  readonly current: ReleaseRow | null;
  readonly officialId: string | null;
  /** Whether the origin has the release that it names. A bundle comes with an attestation that can also name others. */
  readonly isThere: (release: SourceRelease) => boolean;
}

/**
 * Decides the next step of one channel. Only a signed statement that names no release withdraws: damage at the origin is
 * that of its disk.
 *
 * @param nowSeconds Unix seconds; 0 ignores announcements
 */
export function planMirror(
  statement: AttestationStatement,
  { channel, current, officialId, isThere }: MirroredChannel,
  nowSeconds: number,
): MirrorStep {
  const attested = releaseAt(statement, channel, nowSeconds);
  if (attested === null) return { kind: current === null ? 'none' : 'withdraw' };
  if (isSame(current, attested)) return { kind: 'none' };
  if (attested.result === 'FAILED') {
    return {
      kind: 'wait',
      message: `the origin has damaged files of ${channel} release ${attested.release_id}`,
    };
  }
  if (channel === 'localized' && attested.base_release_id !== officialId) {
    return {
      kind: 'wait',
      message: `localized release ${attested.release_id} waits for its base ${attested.base_release_id ?? ''}`,
    };
  }
  const release = { channel, attested };
  // Without the official release nothing is current, so that its absence is a failure of the sync.
  if (channel === 'localized' && !isThere(release)) {
    return {
      kind: 'wait',
      message: `localized release ${attested.release_id} is not there yet; bring its bundle`,
    };
  }
  return { kind: 'follow', release };
}

type AnnouncementStep =
  | { readonly kind: 'none' }
  | { readonly kind: 'cancel' }
  /** The release is already complete here, and only its time differs. */
  | { readonly kind: 'restate'; readonly announced: Announcement; readonly currentAt: number }
  | { readonly kind: 'announce'; readonly release: SourceRelease; readonly currentAt: number };

/**
 * Decides the next step for an announcement. A release whose time has come is followed as a current one. A localized one waits for its
 * base.
 *
 * @param nowSeconds Unix seconds
 */
export function planAnnouncement(
  statement: AttestationStatement,
  {
    channel,
    announced,
    held,
    officialId,
  }: {
    readonly channel: Channel;
    readonly announced: Announcement | null;
    readonly held: ReleaseRow | null;
    readonly officialId: string | null;
  },
  nowSeconds: number,
): AnnouncementStep {
  const attested = announcedRelease(statement, channel);
  if (attested === null) return { kind: announced === null ? 'none' : 'cancel' };
  if (hasSwitched(statement, attested, nowSeconds)) return { kind: 'none' };
  if (channel === 'localized' && attested.base_release_id !== officialId) return { kind: 'none' };
  const { current_at: currentAt } = attested;
  const isWhole =
    announced?.release_id === attested.release_id &&
    held?.snapshot_id === attested.snapshot_id &&
    held.state !== 'damaged';
  if (!isWhole) return { kind: 'announce', release: { channel, attested }, currentAt };
  return announced.current_at === currentAt ? { kind: 'none' } : { kind: 'restate', announced, currentAt };
}

/** Whether a release here is exactly the attested one, sound, and can be repaired from the origin. */
function isSame(current: ReleaseRow | null, attested: AttestedRelease): boolean {
  if (current?.state !== 'current' || current.revision_id === null) return false;
  if (current.release_id !== attested.release_id || current.snapshot_id !== attested.snapshot_id)
    return false;
  return (attested.server_info?.blake3 ?? null) === current.server_info_blake3;
}

/**
 * The next step for the announcement of a channel, by the releases that are here.
 *
 * @param nowSeconds Unix seconds
 */
export function announcementStep(
  releases: ReleaseRepository,
  statement: AttestationStatement,
  channel: Channel,
  nowSeconds: number,
): AnnouncementStep {
  const attested = announcedRelease(statement, channel);
  return planAnnouncement(
    statement,
    {
      channel,
      announced: releases.announcedOf(channel),
      held: attested === null ? null : releases.get(channel, attested.release_id),
      officialId: releases.pointer('official')?.release_id ?? null,
    },
    nowSeconds,
  );
}

/**
 * The earlier releases that the origin still serves under their own path and that are missing here: of each channel the newest, as many
 * as are retained here. A client that learned of one at the origin or at another edge can finish here.
 *
 * @param options.count number of earlier releases of a channel that stay reachable here
 * @returns each with its place among those of its channel; 0 is the newest
 */
export function missingRetained(
  statement: AttestationStatement,
  releases: ReleaseRepository,
  { channels, count }: { readonly channels: readonly Channel[]; readonly count: number },
): ReadonlyArray<{ readonly release: RetainedRelease; readonly place: number }> {
  return CHANNELS.filter((channel) => channels.includes(channel)).flatMap((channel) =>
    statement.retained
      .filter((release) => release.channel === channel && !isAnnounced(release))
      .slice(0, count)
      .map((release, place) => ({ release, place }))
      .filter(({ release }) => {
        const held = releases.get(channel, release.release_id);
        return held === null || !isKept(held) || held.snapshot_id !== release.snapshot_id;
      }),
  );
}
