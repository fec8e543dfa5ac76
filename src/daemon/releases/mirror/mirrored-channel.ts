import type { Channel } from '../../../domain/release/channel.ts';
import type { AttestedUpstream } from '../../upstream/attested/attested-upstream.ts';
import type { OriginRepository } from '../records/origin-repository.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { isHeldBy, planMirror } from './mirror-plan.ts';

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
    readonly origins: Pick<OriginRepository, 'held'>;
    readonly releases: Pick<ReleaseRepository, 'current' | 'pointer'>;
  },
  channel: Channel,
  nowSeconds: number,
): string | null {
  if (upstream?.channels.includes(channel) !== true) return null;
  const copied = `the ${channel} channel is copied from the origin`;
  const statement = origins.held()?.statement;
  if (statement === undefined || releases.current(channel) !== null) return copied;
  const step = planMirror(
    statement,
    {
      channel,
      current: null,
      officialId: releases.pointer('official')?.release_id ?? null,
      isThere: (release) => isHeldBy(upstream.source, release),
    },
    // An attestation that was carried here arrives too late to announce anything.
    upstream.isCarried === true ? 0 : nowSeconds,
  );
  switch (step.kind) {
    case 'wait':
      return `${copied}; ${step.message}`;
    case 'follow':
      return `${copied}; release ${step.release.attested.release_id} is not here yet`;
    default:
      return `${copied}, which offers no release of it`;
  }
}
