import type { ReleaseChannelSpec } from '../../contract/crd/release-channel.ts';
import type { ReadHealth } from '../../contract/schemas/answers/health.ts';
import type { PodEvidence } from '../pods/evidence-book.ts';
import type { ReleaseStatus } from '../pods/server-client.ts';

/**
 * Whether nobody has published a localized release and nobody asks for one. This is how every server begins, so it is not a
 * failure.
 *
 * @param daemons the release reports of the daemons that answered
 */
export function isUnpublished(
  { channel, release }: Pick<ReleaseChannelSpec, 'channel' | 'release'>,
  pods: readonly PodEvidence[],
  daemons: readonly Pick<ReleaseStatus, 'localized'>[],
): boolean {
  if (channel !== 'localized' || release !== undefined) return false;
  if (daemons.some(({ localized }) => localized !== null)) return false;
  const answers = pods.flatMap(({ health }) => (health === null ? [] : [health]));
  return answers.length > 0 && answers.every(saysUnpublished);
}

/** A server of the previous version tells only its verdict. */
function saysUnpublished({ service, verdicts: { localized } }: ReadHealth): boolean {
  if (service !== undefined) return service.channels.localized.reason === 'NothingPublished';
  return localized.reason === 'ReleaseNotAuthorized' && localized.release_id === null;
}
