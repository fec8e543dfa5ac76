import type { AttestedUpstream } from '../../upstream/attested/attested-upstream.ts';
import type { OriginLimits } from '../attest/statement-rules.ts';
import { isNamedByOrigin, type OriginRepository } from '../records/origin-repository.ts';

/** The limits that the last accepted attestation of the origin sets; `null` without an origin. */
export function originLimits(
  upstream: AttestedUpstream | undefined,
  origins: Pick<OriginRepository, 'held'>,
): OriginLimits | null {
  if (upstream === undefined) return null;
  const held = origins.held();
  if (held === null) return { freshUntil: 0, isNamed: () => false };
  return {
    freshUntil: held.issuedAt + upstream.maxAgeSeconds,
    isNamed: (release) =>
      !upstream.channels.includes(release.channel) || isNamedByOrigin(held.statement, release),
  };
}
