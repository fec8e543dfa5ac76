import { releaseAt } from '../../../domain/verdict/announced.ts';
import type { AttestedUpstream } from '../../upstream/attested/attested-upstream.ts';
import type { OriginLimits } from '../attest/statement-rules.ts';
import { isNamedByOrigin, type OriginRepository } from '../records/origin-repository.ts';
import type { Announcement } from '../records/release-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';

/**
 * Whether the last accepted attestation of the origin makes an announced release current at an instant. A daemon without an origin
 * decides itself.
 *
 * @param nowSeconds Unix seconds
 */
export function originMakesCurrent(
  upstream: AttestedUpstream | undefined,
  origins: Pick<OriginRepository, 'held'>,
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
  origins: Pick<OriginRepository, 'held' | 'namedAt'>,
): OriginLimits | null {
  if (upstream === undefined) return null;
  const held = origins.held();
  const isMirrored = ({ channel }: Pick<ReleaseRow, 'channel'>): boolean =>
    upstream.channels.includes(channel);
  return {
    freshUntil: (release) => {
      if (!isMirrored(release)) return Infinity;
      const at = origins.namedAt(release);
      return at === null ? 0 : at + upstream.maxAgeSeconds;
    },
    isNamed: (release) => !isMirrored(release) || (held !== null && isNamedByOrigin(held.statement, release)),
  };
}
