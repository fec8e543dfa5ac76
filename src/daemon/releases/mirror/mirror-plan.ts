import type { Channel } from '../../../domain/release/channel.ts';
import { announcedRelease, hasSwitched, releaseAt } from '../../../domain/verdict/announced.ts';
import type { AttestationStatement } from '../../../domain/verdict/attestation.ts';
import type { AttestedSource, SourceRelease } from '../../../mirror/attested-source.ts';
import type { Announcement } from '../records/release-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';

/** The step of one channel that makes an edge equal to its origin. */
export type MirrorStep =
  | { readonly kind: 'none' }
  /** The release cannot be copied now, for example because its files are damaged at the origin: the edge keeps its own. */
  | { readonly kind: 'wait'; readonly message: string }
  | { readonly kind: 'withdraw' }
  | { readonly kind: 'follow'; readonly release: SourceRelease };

/** Whether a source has a release that it names. */
export function isHeldBy(source: Pick<AttestedSource, 'holds'>, release: SourceRelease): boolean {
  return source.holds?.(release) ?? true;
}

/** The facts about one channel of an edge. */
export interface MirroredChannel {
  readonly channel: Channel;
  /** The current release here, or `null`. */
  readonly current: ReleaseRow | null;
  /** The current official release here after the steps before this one, or `null`. */
  readonly officialId: string | null;
  /** Whether the origin has the release that it names. A bundle is carried with an attestation that can name others, too. */
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

/** The step of one channel that makes its announcement equal to that of the origin. */
export type AnnouncementStep =
  | { readonly kind: 'none' }
  | { readonly kind: 'cancel' }
  /** The release is here whole already, and only its time is another one. */
  | { readonly kind: 'restate'; readonly announced: Announcement; readonly currentAt: number }
  | { readonly kind: 'announce'; readonly release: SourceRelease; readonly currentAt: number };

/** The facts about the announcement of one channel of an edge. */
export interface MirroredAnnouncement {
  readonly channel: Channel;
  readonly announced: Announcement | null;
  /** The announced release here, or `null`. */
  readonly held: ReleaseRow | null;
  /** The current official release here, or `null`. */
  readonly officialId: string | null;
}

/**
 * Decides the next step for an announcement. A release whose time has come is followed as a current one. A localized one waits for its
 * base.
 *
 * @param nowSeconds Unix seconds
 */
export function planAnnouncement(
  statement: AttestationStatement,
  { channel, announced, held, officialId }: MirroredAnnouncement,
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
function isSame(current: ReleaseRow | null, attested: NonNullable<AttestationStatement[Channel]>): boolean {
  if (current?.state !== 'current' || current.revision_id === null) return false;
  if (current.release_id !== attested.release_id || current.snapshot_id !== attested.snapshot_id)
    return false;
  return (
    attested.server_info === undefined ||
    (attested.server_info?.blake3 ?? null) === current.server_info_blake3
  );
}
