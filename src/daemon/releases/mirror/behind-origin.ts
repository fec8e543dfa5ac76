import { CHANNELS, type Channel } from '../../../domain/release/channel.ts';
import type { AttestationStatement } from '../../../domain/verdict/attestation.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { AttestedUpstream } from '../../upstream/attested/attested-upstream.ts';
import type { OriginRepository } from '../records/origin-repository.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { announcementStep } from './announcement-step.ts';
import { isHeldBy, planMirror } from './mirror-plan.ts';
import { missingRetained } from './plan-retained.ts';

/** The last attestation of the origin, and the releases that are here. */
export interface EdgeRecords {
  readonly origins: Pick<OriginRepository, 'held'>;
  readonly releases: Pick<ReleaseRepository, 'current' | 'pointer' | 'announcedOf' | 'get'>;
  /** Number of earlier releases of a channel that stay reachable here. */
  readonly retainedCount: () => number;
  readonly clock: Clock;
}

/** Whether a sync can bring this edge nearer to the last attestation of its origin, earlier releases aside. */
export function isBehind(records: EdgeRecords, origin: AttestedUpstream): boolean {
  const { releases, clock } = records;
  const held = records.origins.held();
  if (held === null) return true;
  const officialId = releases.pointer('official')?.release_id ?? null;
  const nowSeconds = origin.isCarried === true ? 0 : unixSeconds(clock);
  return CHANNELS.filter((channel) => origin.channels.includes(channel)).some((channel) => {
    const { kind } = planMirror(
      held.statement,
      {
        channel,
        current: releases.current(channel),
        officialId,
        isThere: (release) => isHeldBy(origin.source, release),
      },
      nowSeconds,
    );
    return (
      kind === 'follow' ||
      kind === 'withdraw' ||
      isAnnouncementBehind(records, origin, held.statement, channel)
    );
  });
}

function isAnnouncementBehind(
  { releases, clock }: EdgeRecords,
  { isCarried }: AttestedUpstream,
  statement: AttestationStatement,
  channel: Channel,
): boolean {
  if (isCarried === true) return false;
  return announcementStep(releases, statement, channel, unixSeconds(clock)).kind !== 'none';
}

/** Whether the origin retains earlier releases that are not here and belong here. */
export function lacksEarlier(
  { origins, releases, retainedCount }: EdgeRecords,
  { isCarried, channels }: AttestedUpstream,
): boolean {
  const held = origins.held();
  if (held === null || isCarried === true) return false;
  return missingRetained(held.statement, releases, { channels, count: retainedCount() }).length > 0;
}
