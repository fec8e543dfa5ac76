import { CHANNELS, type Channel } from '../../domain/release/channel.ts';
import { releaseAt } from '../../domain/verdict/announced.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import type { AttestationStatement } from '../../domain/verdict/attestation.ts';
import type { AttestedUpstream } from '../../upstream/attested/attested-upstream.ts';
import type { OriginLimits } from '../attest/statement-rules.ts';
import { isNamedByOrigin, type OriginRepository } from '../records/origin-repository.ts';
import type { Announcement, ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { announcementStep, missingRetained, planMirror, type MirrorStep } from './mirror-plan.ts';

/**
 * Whether the last accepted attestation of the origin makes an announced release current at an instant. A daemon without an origin
 * decides itself.
 *
 * @param nowSeconds Unix seconds
 */
export function originMakesCurrent(
  upstream: AttestedUpstream | undefined,
  origins: OriginRepository,
  { channel, release_id: id }: Announcement,
  nowSeconds: number,
): boolean {
  if (upstream?.channels.includes(channel) !== true) return true;
  const held = origins.held();
  return held !== null && releaseAt(held.statement, channel, nowSeconds)?.release_id === id;
}

/** The limits that the accepted attestations of the origin set; `null` without an origin. */
export function originLimits(
  upstream: AttestedUpstream | undefined,
  origins: OriginRepository,
): OriginLimits | null {
  if (upstream === undefined) return null;
  const held = origins.held();
  const isMirrored = ({ channel }: ReleaseRow): boolean => upstream.channels.includes(channel);
  return {
    freshUntil: (release) => {
      if (!isMirrored(release)) return Infinity;
      const at = origins.namedAt(release);
      return at === null ? 0 : at + upstream.maxAgeSeconds;
    },
    isNamed: (release) => !isMirrored(release) || (held !== null && isNamedByOrigin(held.statement, release)),
  };
}

/**
 * Says of a channel that it is copied, and, while no release of it is current here, why. It names no address.
 *
 * @param nowSeconds Unix seconds
 * @returns `null` for a channel whose releases are made here
 */
export function describeMirrored(
  upstream: AttestedUpstream | undefined,
  {
    origins,
    releases,
  }: {
    readonly origins: OriginRepository;
    readonly releases: ReleaseRepository;
  },
  channel: Channel,
  nowSeconds: number,
): string | null {
  if (upstream?.channels.includes(channel) !== true) return null;
  const copied = `the ${channel} channel is copied from the origin`;
  const statement = origins.held()?.statement;
  if (statement === undefined || releases.current(channel) !== null) return copied;
  const step = mirrorStep(upstream, statement, releases, { channel, current: null }, nowSeconds);
  switch (step.kind) {
    case 'wait':
      return `${copied}; ${step.message}`;
    case 'follow':
      return `${copied}; release ${step.release.attested.release_id} is not here yet`;
    default:
      return `${copied}, which offers no release of it`;
  }
}

/**
 * The step of one channel that makes this edge equal to a statement of its origin.
 *
 * @param nowSeconds Unix seconds
 */
export function mirrorStep(
  origin: AttestedUpstream,
  statement: AttestationStatement,
  releases: ReleaseRepository,
  { channel, current }: { readonly channel: Channel; readonly current: ReleaseRow | null },
  nowSeconds: number,
): MirrorStep {
  return planMirror(
    statement,
    {
      channel,
      current,
      officialId: releases.pointer('official')?.release_id ?? null,
      isThere: (release) => origin.source.holds?.(release) ?? true,
    },
    announcementTime(origin, nowSeconds),
  );
}

/** The instant at which announcements are judged, Unix seconds. A carried attestation arrives too late to announce anything. */
export function announcementTime({ isCarried }: AttestedUpstream, nowSeconds: number): number {
  return isCarried === true ? 0 : nowSeconds;
}

/**
 * Whether a sync can bring this edge nearer to a statement of its origin, earlier releases aside.
 *
 * @param nowSeconds Unix seconds
 */
export function isBehind(
  origin: AttestedUpstream,
  statement: AttestationStatement,
  releases: ReleaseRepository,
  nowSeconds: number,
): boolean {
  return CHANNELS.filter((channel) => origin.channels.includes(channel)).some((channel) => {
    const current = releases.current(channel);
    const { kind } = mirrorStep(origin, statement, releases, { channel, current }, nowSeconds);
    if (kind === 'follow' || kind === 'withdraw') return true;
    return (
      origin.isCarried !== true && announcementStep(releases, statement, channel, nowSeconds).kind !== 'none'
    );
  });
}

/** Whether the origin retains earlier releases that are not here, of those that this edge keeps reachable. */
export function hasMissingEarlier(
  { isCarried, channels }: AttestedUpstream,
  statement: AttestationStatement,
  releases: ReleaseRepository,
  retained: number,
): boolean {
  return isCarried !== true && missingRetained(statement, releases, { channels, count: retained }).length > 0;
}

/** An earlier release of the origin that is current again. `at` is Unix seconds. */
interface StepBack {
  readonly channel: Channel;
  readonly release_id: ReleaseId;
  readonly from_release_id: ReleaseId;
  readonly at: number;
}

/**
 * Whether a current release replaced one that the origin had made later. That can be a rollback on purpose, and also an origin that was
 * restored from an old copy, so it is shown for as long as it lasts.
 */
export function stepBackOf({ channels }: AttestedUpstream, releases: ReleaseRepository): StepBack | null {
  for (const channel of CHANNELS.filter((each) => channels.includes(each))) {
    const [current, pointer] = [releases.current(channel), releases.pointer(channel)];
    if (current === null || pointer === null) continue;
    const replaced = releases
      .list(channel, LISTED_RELEASES)
      .find((release) => release.superseded_at === pointer.since && isNewer(release, current));
    if (replaced === undefined) continue;
    const { release_id } = current;
    return { channel, release_id, from_release_id: replaced.release_id, at: pointer.since };
  }
  return null;
}

/** Whether the origin made a release later than another one. */
export function isNewer(release: ReleaseRow, than: ReleaseRow): boolean {
  return release.release_id !== than.release_id && release.created_at > than.created_at;
}

/** The newest releases among which the replaced one is looked for. */
const LISTED_RELEASES = 100;
