import type { ReadHealth } from '../../contract/schemas/answers/health.ts';
import type { Channel } from '../../domain/release/channel.ts';
import { isResting, type RestingReason } from '../../domain/service-state/calm-reasons.ts';
import type { PodHealth } from '../pods/pod-health.ts';

export interface RestingChannel {
  readonly reason: RestingReason;
  readonly message: string;
}

const NOTHING_PUBLISHED: RestingChannel = {
  reason: 'NothingPublished',
  message: 'no localized release is published yet; publish one, or name it in spec.release',
};
const WITHDRAWN: RestingChannel = {
  reason: 'ReleaseWithdrawn',
  message: 'a rollback has withdrawn the channel; to serve a release again, publish with args=resume=true',
};

/**
 * Why the localized channel rests: nobody has published a release, which is how every server begins, or somebody has withdrawn it.
 * Neither is a failure. A withdrawal counts before every pod knows of it, and beside pods of a daemon that has published nothing.
 *
 * @param isPublished whether a daemon has a localized release
 * @returns `null` when it does not rest, or when the spec asks for a release
 */
export function restingChannel(
  findings: { readonly channel: Channel; readonly wanted: string | null },
  pods: readonly PodHealth[],
  isPublished: boolean,
): RestingChannel | null {
  if (findings.channel !== 'localized' || findings.wanted !== null || isPublished) return null;
  const found = pods.flatMap(({ health }) => (health === null ? [] : [restingOf(health)]));
  if (found.includes(null)) return null;
  // A server that has just started may not know yet that the channel is copied.
  return (
    found.find((each) => each === WITHDRAWN) ??
    found.find((each) => each !== NOTHING_PUBLISHED) ??
    found[0] ??
    null
  );
}

function restingOf({ service }: ReadHealth): RestingChannel | null {
  if (service === undefined) return null;
  const { reason, message, next_step: next } = service.channels.localized;
  if (!isResting(reason)) return null;
  if (reason === 'ReleaseWithdrawn') return WITHDRAWN;
  // Nothing can be published to a channel that is copied from an origin.
  return next?.action === 'localized-publish' ? NOTHING_PUBLISHED : { reason, message };
}
