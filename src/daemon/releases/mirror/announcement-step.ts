import type { Channel } from '../../../domain/release/channel.ts';
import { announcedRelease } from '../../../domain/verdict/announced.ts';
import type { AttestationStatement } from '../../../domain/verdict/attestation.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { planAnnouncement, type AnnouncementStep } from './mirror-plan.ts';

/**
 * The next step for the announcement of a channel, by the releases that are here.
 *
 * @param nowSeconds Unix seconds
 */
export function announcementStep(
  releases: Pick<ReleaseRepository, 'announcedOf' | 'get' | 'pointer'>,
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
