import type { Channel } from '../../../domain/release/channel.ts';
import type { CurrentRelease } from './release-repository.ts';
import { isKept, type ReleaseRow } from './release-row.ts';

/** How long and how many earlier releases stay reachable under their own path. */
export interface RetentionLimits {
  /** Maximum number of retained releases of one channel. */
  readonly count: number;
  /** Seconds after which a superseded release is no longer attested. */
  readonly maxAgeSeconds: number;
}

/** A release that stays reachable, and until when (Unix seconds). */
export interface Retained {
  readonly release: ReleaseRow;
  readonly until: number;
}

/** The releases and pointers that a decision is made from. */
export interface ReleaseSituation {
  readonly releases: readonly ReleaseRow[];
  readonly pointers: Readonly<Record<Channel, CurrentRelease | null>>;
}

/**
 * Selects the earlier releases that may still be served: of each channel those that were superseded last, sound,
 * within count and age. A localized release whose base is no longer current counts as superseded since then.
 *
 * @param nowSeconds the one instant of the decision, Unix seconds
 */
export function selectRetained(
  situation: ReleaseSituation,
  limits: RetentionLimits,
  nowSeconds: number,
): readonly Retained[] {
  const candidates = situation.releases.flatMap((release): Retained[] => {
    const since = leftAt(release, situation);
    if (since === null || release.state === 'damaged' || !isKept(release) || release.published_at === null)
      return [];
    const until = since + limits.maxAgeSeconds;
    return until > nowSeconds ? [{ release, until }] : [];
  });
  return (['official', 'localized'] as const).flatMap((channel) =>
    candidates
      .filter((candidate) => candidate.release.channel === channel)
      .sort((a, b) => b.until - a.until || (a.release.release_id < b.release.release_id ? 1 : -1))
      .slice(0, limits.count),
  );
}

function leftAt(release: ReleaseRow, situation: ReleaseSituation): number | null {
  const isCurrent = situation.pointers[release.channel]?.release_id === release.release_id;
  return isCurrent ? release.stale_since : release.superseded_at;
}

/** Whether a localized release was made for another official release than the current one. */
export function isStale(release: ReleaseRow, officialReleaseId: string | null): boolean {
  return release.channel === 'localized' && release.base_release_id !== officialReleaseId;
}

/** Why a release is kept. */
export type KeepReason = 'current' | 'previous' | 'pinned' | 'base_of_localized' | 'retained' | 'newest';

/** What a cleanup would do. */
export interface CleanupPlan {
  readonly remove: readonly ReleaseRow[];
  readonly keep: readonly { readonly release: ReleaseRow; readonly why: KeepReason }[];
}

/** What a cleanup was asked to do. */
export interface CleanupRequest {
  /** Releases to keep of each channel, at least 1. */
  readonly count: number;
  /** Ids to delete, or `null` to delete what exceeds `count`. */
  readonly only: readonly { readonly channel: Channel; readonly releaseId: string }[] | null;
  /** Also delete what is retained for clients that are still downloading. */
  readonly force: boolean;
}

/**
 * Decides which releases a cleanup deletes. Never the current one of a channel, the one before it, a pinned one, or
 * the base of a localized release that stays.
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

/** The current one first, then by when they were last current, then by when they were made. */
function newestFirst(releases: readonly ReleaseRow[], situation: ReleaseSituation): readonly ReleaseRow[] {
  const rank = (release: ReleaseRow): number =>
    situation.pointers[release.channel]?.release_id === release.release_id
      ? Number.MAX_SAFE_INTEGER
      : (release.superseded_at ?? release.created_at);
  return [...releases].sort((a, b) => rank(b) - rank(a) || b.created_at - a.created_at);
}
