import type { ReleaseChannelSpec } from '../../contract/crd/release-channel.ts';
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
  const verdicts = pods.flatMap(({ health }) => (health === null ? [] : [health.verdicts.localized]));
  return (
    verdicts.length > 0 &&
    verdicts.every(({ reason, release_id }) => reason === 'ReleaseNotAuthorized' && release_id === null)
  );
}
