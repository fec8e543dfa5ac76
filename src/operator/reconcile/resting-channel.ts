import type { ReleaseChannelSpec } from '../../contract/crd/release-channel.ts';
import type { ReadHealth } from '../../contract/schemas/answers/health.ts';
import { isResting, type RestingReason } from '../../domain/service-state/calm-reasons.ts';
import type { PodEvidence } from '../pods/evidence-book.ts';
import type { ReleaseStatus } from '../pods/server-client.ts';

/**
 * Why the localized channel rests: nobody has published a release, which is how every server begins, or somebody has withdrawn it.
 * Neither is a failure. A withdrawal counts before every pod knows of it, and beside pods of a daemon that has published nothing.
 *
 * @param daemons the release reports of the daemons that answered
 * @returns `null` when it does not, or when the spec asks for a release
 */
export function restingReason(
  { channel, release }: Pick<ReleaseChannelSpec, 'channel' | 'release'>,
  pods: readonly PodEvidence[],
  daemons: readonly Pick<ReleaseStatus, 'localized'>[],
): RestingReason | null {
  if (channel !== 'localized' || release !== undefined) return null;
  if (daemons.some(({ localized }) => localized !== null)) return null;
  const reasons = pods.flatMap(({ health }) => (health === null ? [] : [reasonOf(health)]));
  if (reasons.length === 0 || reasons.includes(null)) return null;
  return reasons.includes('ReleaseWithdrawn') ? 'ReleaseWithdrawn' : 'NothingPublished';
}

/** A server of the previous version tells only its verdict. */
function reasonOf({ service, verdicts: { localized } }: ReadHealth): RestingReason | null {
  const isEmpty = localized.reason === 'ReleaseNotAuthorized' && localized.release_id === null;
  if (service === undefined) return isEmpty ? 'NothingPublished' : null;
  const { reason } = service.channels.localized;
  return isResting(reason) ? reason : null;
}
