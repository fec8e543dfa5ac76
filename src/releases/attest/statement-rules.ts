import { instant } from '../../domain/instant.ts';
import { RETAINED_MAX_RELEASES } from '../../contract/formats/attestation-format.ts';
import {
  isInFuture,
  type AttestedRelease,
  type CurrentAttestedRelease,
  type ReleaseFailure,
  type RetainedRelease,
  type StaleRelease,
} from '../../domain/verdict/attestation.ts';
import type { Channel } from '../../domain/release/channel.ts';
import { documentOfRow, isKept, type ReleaseRow } from '../records/release-row.ts';
import {
  isStale,
  selectRetained,
  type ReleaseSituation,
  type RetentionLimits,
} from '../records/retention-rules.ts';

/**
 * Seconds for which an announced release may be served beyond the time of its switch, by a reader that learns of nothing newer.
 * Each renewal of the attestation moves the end on.
 */
const ANNOUNCED_SECONDS = 86_400;

/** The members of a statement that name releases. */
interface StatementContent {
  readonly official: CurrentAttestedRelease | null;
  readonly localized: CurrentAttestedRelease | null;
  readonly stale_localized: StaleRelease | null;
  readonly retained: readonly RetainedRelease[];
}

export type StatementPlan =
  | {
      readonly ok: true;
      readonly content: StatementContent;
      readonly notes: readonly string[];
      /** The latest end of its validity, Unix seconds; `null` for no limit. */
      readonly expiresBy: number | null;
    }
  | { readonly ok: false; readonly message: string };

export interface StatementLimits {
  readonly retention: RetentionLimits;
  /** Seconds after which the last full verification of a release no longer supports a statement. */
  readonly maxVerifyAgeSeconds: number;
  /** The limits that the origin of an edge sets; `null` for a daemon without an origin. */
  readonly origin: OriginLimits | null;
}

/** The limits that the accepted attestations of an origin set. Releases of channels that are not mirrored have none. */
export interface OriginLimits {
  /**
   * Unix seconds until which a release may be attested, counted from the last attestation that named it; 0 when no attestation by a key
   * that is trusted now has named it.
   */
  freshUntil(release: ReleaseRow): number;
  isNamed(release: ReleaseRow): boolean;
}

/**
 * Decides what the next attestation says. A damaged release has the result FAILED and the reason, so that every
 * receiver learns that it is withdrawn and why. A localized release whose base is no longer current is left out. When
 * the last full verification of a sound current official release is too old, nothing is attested: the last attestation
 * expires, and servers stop distributing bytes that have not been verified recently. The same holds for an edge whose
 * origin has not named the release for too long.
 *
 * @param nowSeconds the one instant of the decision, Unix seconds
 * @param failureOf why a damaged release is withdrawn
 */
export function planStatement(
  situation: ReleaseSituation,
  limits: StatementLimits,
  nowSeconds: number,
  failureOf: (release: ReleaseRow) => ReleaseFailure,
): StatementPlan {
  const official = currentOf(situation, 'official');
  const localized = currentOf(situation, 'localized');
  const fresh = (release: ReleaseRow): boolean => isFreshAt(release, nowSeconds, limits.maxVerifyAgeSeconds);
  if (official !== null && official.state !== 'damaged' && !fresh(official)) {
    return { ok: false, message: unverifiedMessage(official, limits, nowSeconds) };
  }
  const { origin } = limits;
  const namedUntil = (release: ReleaseRow): number => origin?.freshUntil(release) ?? Infinity;
  if (official !== null && namedUntil(official) <= nowSeconds) {
    return { ok: false, message: originMessage(official, namedUntil(official)) };
  }
  const notes: string[] = [];
  let localizedStatement: CurrentAttestedRelease | null = null;
  let stale: StaleRelease | null = null;
  if (localized !== null && isStale(localized, official?.release_id ?? null)) {
    stale = staleRelease(localized);
    notes.push(
      `localized release ${localized.release_id} is left out: its base is not the current official release`,
    );
  } else if (localized !== null && localized.state !== 'damaged' && !fresh(localized)) {
    notes.push(
      `localized release ${localized.release_id} is left out: its last full verification is too old, or dated in the future`,
    );
  } else if (localized !== null && namedUntil(localized) <= nowSeconds) {
    notes.push(
      `localized release ${localized.release_id} is left out: ${unnamedSince(namedUntil(localized))}`,
    );
  } else if (localized !== null) {
    localizedStatement = attestedCurrent(situation, localized, failureOf);
  }
  const announced = announcedReleases(situation, limits, nowSeconds, failureOf);
  const retained = selectRetained(situation, limits.retention, nowSeconds)
    .filter(({ release }) => fresh(release) && (release !== localized || localizedStatement === null))
    .filter(({ release }) => origin === null || origin.isNamed(release))
    .slice(0, RETAINED_MAX_RELEASES - announced.length)
    .map(({ release, until }): RetainedRelease => ({
      ...attested(release, failureOf),
      channel: release.channel,
      retained_until: until,
    }));
  return {
    ok: true,
    content: {
      official: official === null ? null : attestedCurrent(situation, official, failureOf),
      localized: localizedStatement,
      stale_localized: stale,
      retained: [...announced, ...retained],
    },
    notes,
    expiresBy: earliest([official, localizedStatement === null ? null : localized], namedUntil),
  };
}

function staleRelease({ release_id: id, base_release_id: base }: ReleaseRow): StaleRelease | null {
  return base === null ? null : { release_id: id, base_release_id: base };
}

function unverifiedMessage(
  { release_id: releaseId, verified_at: at }: ReleaseRow,
  { maxVerifyAgeSeconds }: StatementLimits,
  nowSeconds: number,
): string {
  const found = isInFuture(at ?? 0, nowSeconds)
    ? 'is dated in the future'
    : `is older than ${maxVerifyAgeSeconds} s`;
  return `the last full verification of release ${releaseId} ${found}; nothing is attested until a verify task has succeeded`;
}

function announcedReleases(
  situation: ReleaseSituation,
  { maxVerifyAgeSeconds, origin }: StatementLimits,
  nowSeconds: number,
  failureOf: (release: ReleaseRow) => ReleaseFailure,
): readonly RetainedRelease[] {
  return situation.announced.flatMap(({ channel, release_id: id, current_at: currentAt }) => {
    const release = releaseIn(situation, channel, id);
    if (release === null || !isKept(release) || release.state === 'damaged') return [];
    if (situation.pointers[channel]?.release_id === id) return [];
    if (isStale(release, situation.pointers.official?.release_id ?? null)) return [];
    if (!isFreshAt(release, nowSeconds, maxVerifyAgeSeconds)) return [];
    if (origin !== null && !origin.isNamed(release)) return [];
    const until = Math.max(currentAt, nowSeconds) + ANNOUNCED_SECONDS;
    return [{ ...attested(release, failureOf), channel, retained_until: until, current_at: currentAt }];
  });
}

function earliest(
  releases: readonly (ReleaseRow | null)[],
  endOf: (release: ReleaseRow) => number,
): number | null {
  const ends = releases.flatMap((release) => (release === null ? [] : [endOf(release)]));
  const end = Math.min(...ends);
  return Number.isFinite(end) ? end : null;
}

function originMessage({ release_id: id }: ReleaseRow, until: number): string {
  return `${unnamedSince(until)}; nothing is attested until an attestation that names release ${id} or a newer one is accepted`;
}

function unnamedSince(until: number): string {
  if (until === 0) return 'no attestation of the origin by a trusted key has named it';
  const since = instant(until);
  return `the last attestation of the origin that names it is too old since ${since}`;
}

/**
 * Whether the last full verification of a release supports a statement of `nowSeconds`, Unix seconds. The age of one that is dated
 * in the future is not known, so it supports none.
 */
export function isFreshAt(
  { verified_at: verifiedAt }: { readonly verified_at: number | null },
  nowSeconds: number,
  maxVerifyAgeSeconds: number,
): boolean {
  const at = verifiedAt ?? 0;
  return at > nowSeconds - maxVerifyAgeSeconds && !isInFuture(at, nowSeconds);
}

export function currentOf(situation: ReleaseSituation, channel: Channel): ReleaseRow | null {
  const pointer = situation.pointers[channel];
  if (pointer === null) return null;
  return releaseIn(situation, channel, pointer.release_id);
}

function releaseIn(
  { releases }: ReleaseSituation,
  channel: Channel,
  releaseId: ReleaseRow['release_id'],
): ReleaseRow | null {
  return releases.find((each) => each.channel === channel && each.release_id === releaseId) ?? null;
}

function attestedCurrent(
  { pointers }: ReleaseSituation,
  release: ReleaseRow,
  failureOf: (release: ReleaseRow) => ReleaseFailure,
): CurrentAttestedRelease {
  const pointer = pointers[release.channel];
  if (pointer === null) throw new Error(`release ${release.release_id} is not current`);
  return { ...attested(release, failureOf), current_since: pointer.since };
}

function attested(release: ReleaseRow, failureOf: (release: ReleaseRow) => ReleaseFailure): AttestedRelease {
  if (release.snapshot_id === null) {
    throw new Error(`release ${release.release_id} has no snapshot and cannot be attested`);
  }
  return {
    release_id: release.release_id,
    snapshot_id: release.snapshot_id,
    entry_count: release.entry_count,
    total_bytes: release.total_bytes,
    ...(release.excluded_count === 0 ? {} : { excluded_count: release.excluded_count }),
    created_at: release.created_at,
    verified_at: release.verified_at ?? release.created_at,
    verification: 'full',
    ...(release.state === 'damaged'
      ? { result: 'FAILED', failure: failureOf(release) }
      : { result: 'PASSED' }),
    ...(release.base_release_id === null ? {} : { base_release_id: release.base_release_id }),
    server_info: documentOfRow(release),
  };
}
