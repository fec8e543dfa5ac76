import { RETAINED_MAX_RELEASES } from '../../contract/formats/attestation-format.ts';
import { CHANNELS, type Channel } from '../../domain/release/channel.ts';
import {
  RELEASES_MAX,
  type Announcement,
  type CurrentRelease,
  type ReleaseRepository,
} from './release-repository.ts';
import { isKept, type ReleaseKey, type ReleaseRow } from './release-row.ts';

/** The earlier releases that stay reachable under their own path: those that one of the two limits keeps. */
export interface RetentionLimits {
  /** Number of superseded releases of a channel that stay attested, however old they are. */
  readonly retained: number;
  /** Seconds for which every superseded release stays attested. */
  readonly maxAgeSeconds: number;
}

/** Maximum number of retained releases of one channel, so that a statement holds those of every channel. */
export const RETAINED_MAX_OF_CHANNEL = RETAINED_MAX_RELEASES / CHANNELS.length;

/**
 * Seconds for which a release that the count keeps is promised. Each renewal of the attestation moves the end on. No
 * attestation is valid for longer, so the promise never ends while the release is still among the newest.
 */
const COUNTED_SECONDS = 86_400;

/** A release that stays reachable, and until when (Unix seconds). */
interface Retained {
  readonly release: ReleaseRow;
  readonly until: number;
}

export interface ReleaseSituation {
  readonly releases: readonly ReleaseRow[];
  readonly pointers: Readonly<Record<Channel, CurrentRelease | null>>;
  readonly announced: readonly Announcement[];
}

/**
 * Selects the earlier releases that may still be served: per channel the most recently superseded sound ones, as many
 * as the count says, and every other one that was current within the age. On a day with many releases, a client that
 * started early can so finish. At most {@link RETAINED_MAX_OF_CHANNEL} per channel are selected. A localized release
 * whose base is no longer current counts as superseded since that change.
 *
 * @param nowSeconds the one instant of the decision, Unix seconds
 */
export function selectRetained(
  situation: ReleaseSituation,
  limits: RetentionLimits,
  nowSeconds: number,
): readonly Retained[] {
  const candidates = situation.releases.flatMap((release) => {
    const since = leftAt(release, situation);
    if (isAnnouncedIn(situation, release)) return [];
    if (since === null || release.state === 'damaged' || !isKept(release) || release.published_at === null)
      return [];
    return [{ release, since }];
  });
  return CHANNELS.flatMap((channel) =>
    candidates
      .filter((candidate) => candidate.release.channel === channel)
      .sort((a, b) => b.since - a.since || (a.release.release_id < b.release.release_id ? 1 : -1))
      .map(({ release, since }, order): Retained => {
        const until = since + limits.maxAgeSeconds;
        return {
          release,
          until: order < limits.retained ? Math.max(until, nowSeconds + COUNTED_SECONDS) : until,
        };
      })
      .filter(({ until }) => until > nowSeconds)
      .slice(0, RETAINED_MAX_OF_CHANNEL),
  );
}

function leftAt(release: ReleaseRow, situation: ReleaseSituation): number | null {
  const isCurrent = situation.pointers[release.channel]?.release_id === release.release_id;
  return isCurrent ? release.stale_since : release.superseded_at;
}

/** Whether a release becomes current at a stated time. */
export function isAnnouncedIn(
  { announced }: ReleaseSituation,
  { channel, release_id: id }: ReleaseKey,
): boolean {
  return announced.some((one) => one.channel === channel && one.release_id === id);
}

/** Whether a localized release is based on an official release other than the current one. */
export function isStale(
  release: { readonly channel: Channel; readonly base_release_id: string | null },
  officialReleaseId: string | null,
): boolean {
  return release.channel === 'localized' && release.base_release_id !== officialReleaseId;
}

type KeepReason =
  | 'current'
  | 'announced'
  | 'previous'
  | 'pinned'
  | 'base_of_localized'
  | 'retained'
  | 'newest';

export interface CleanupPlan {
  readonly remove: readonly ReleaseRow[];
  readonly keep: readonly { readonly release: ReleaseRow; readonly why: KeepReason }[];
}

export interface CleanupRequest {
  /** Number of releases to keep in each channel, at least 1. */
  readonly count: number;
  /** Ids to delete, or `null` to delete the releases beyond `count`. */
  readonly only: readonly { readonly channel: Channel; readonly releaseId: string }[] | null;
  /** Also delete the releases retained for clients that are still downloading. */
  readonly force: boolean;
}

/**
 * Decides which releases a cleanup deletes. It never deletes the current release of a channel, an announced one, the previous one, a
 * pinned one, or the base of a localized release that is kept.
 */
export function planCleanup(
  situation: ReleaseSituation,
  retained: readonly Retained[],
  request: CleanupRequest,
): CleanupPlan {
  const kept = situation.releases.filter(isKept);
  const why = new Map<ReleaseRow, KeepReason>();
  for (const release of kept) {
    const reason = protection(release, kept, situation);
    if (reason !== null) why.set(release, reason);
    else if (!request.force && retained.some((one) => one.release === release)) why.set(release, 'retained');
    else if (!isRequested(release, kept, request, situation)) why.set(release, 'newest');
  }
  for (const release of kept) {
    const isBase = kept.some(
      (other) =>
        other.channel === 'localized' && other.base_release_id === release.release_id && why.has(other),
    );
    if (release.channel === 'official' && isBase && !why.has(release)) why.set(release, 'base_of_localized');
  }
  return {
    remove: kept.filter((release) => !why.has(release)),
    keep: [...why].map(([release, reason]) => ({ release, why: reason })),
  };
}

function protection(
  release: ReleaseRow,
  kept: readonly ReleaseRow[],
  situation: ReleaseSituation,
): KeepReason | null {
  if (situation.pointers[release.channel]?.release_id === release.release_id) return 'current';
  if (isAnnouncedIn(situation, release)) return 'announced';
  if (release.pinned) return 'pinned';
  const previous = newestFirst(
    kept.filter((other) => other.channel === release.channel && other.superseded_at !== null),
    situation,
  ).find((other) => situation.pointers[other.channel]?.release_id !== other.release_id);
  return previous === release ? 'previous' : null;
}

function isRequested(
  release: ReleaseRow,
  kept: readonly ReleaseRow[],
  request: CleanupRequest,
  situation: ReleaseSituation,
): boolean {
  if (request.only !== null) {
    return request.only.some(
      (one) => one.channel === release.channel && one.releaseId === release.release_id,
    );
  }
  const ranked = newestFirst(
    kept.filter((other) => other.channel === release.channel),
    situation,
  );
  return ranked.indexOf(release) >= request.count;
}

function newestFirst(releases: readonly ReleaseRow[], situation: ReleaseSituation): readonly ReleaseRow[] {
  const rank = (release: ReleaseRow): number =>
    situation.pointers[release.channel]?.release_id === release.release_id
      ? Number.MAX_SAFE_INTEGER
      : (release.superseded_at ?? release.created_at);
  return [...releases].sort((a, b) => rank(b) - rank(a) || b.created_at - a.created_at);
}

export function situationOf(releases: ReleaseRepository): ReleaseSituation {
  return {
    releases: releases.list(null, RELEASES_MAX),
    pointers: { official: releases.pointer('official'), localized: releases.pointer('localized') },
    announced: releases.announced(),
  };
}
