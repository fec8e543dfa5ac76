import type { ControlAction } from '../../contract/actions/actions.ts';
import type { ControlBody } from '../../contract/actions/control-body.ts';
import type { ReleaseChannelSpec } from '../../contract/crd/release-channel.ts';
import type { ReleaseRow, ReleaseStatus } from '../pods/server-client.ts';
import type { Obstacle } from '../pods/server-pods.ts';

/** The plan for a pinned release on one daemon. */
export type PinPlan =
  | { readonly kind: 'none' }
  /** The release is current. */
  | { readonly kind: 'reached' }
  /** An action makes it current. */
  | { readonly kind: 'act'; readonly action: ControlAction; readonly body: ControlBody }
  /** Only a person can help. */
  | { readonly kind: 'stalled'; readonly obstacle: Obstacle; readonly holdSync: boolean };

const REASON = 'spec.release of a ReleaseChannel';

/** States of a release that can be made current again. */
const USABLE: ReadonlySet<ReleaseRow['state']> = new Set([
  'verified',
  'superseded',
  'rolled_back',
  'current',
]);

/**
 * Plans `spec.release` on one daemon. An earlier localized release is made current by localized-rollback; one that does
 * not exist is published under that id. For an official release that is not current there is no action.
 */
export function planPin(
  spec: Pick<ReleaseChannelSpec, 'channel' | 'release'>,
  status: Pick<ReleaseStatus, 'official' | 'localized'>,
  history: readonly ReleaseRow[],
): PinPlan {
  const { channel, release } = spec;
  if (release === undefined) return { kind: 'none' };
  if (status[channel]?.release_id === release) return { kind: 'reached' };
  const known = history.find((row) => row.release_id === release && row.state !== 'deleted');
  if (channel === 'official') return planOfficial(release, known !== undefined);
  const audit = { reviewer: 'slipway-operator', reason: REASON };
  if (known === undefined) {
    const body = { from_worker: true, localized_release_id: release, ...audit };
    return { kind: 'act', action: 'localized-publish', body };
  }
  if (USABLE.has(known.state)) {
    return { kind: 'act', action: 'localized-rollback', body: { localized_release_id: release, ...audit } };
  }
  const message = `localized release ${release} is ${known.state} and cannot be made current`;
  return { kind: 'stalled', obstacle: { reason: 'ActionRejected', message }, holdSync: false };
}

function planOfficial(release: string, isKnown: boolean): PinPlan {
  // Syncing continues for a release that upstream may still publish, and pauses for one that was replaced.
  const obstacle: Obstacle = isKnown
    ? {
        reason: 'PinNotSupported',
        message: `official release ${release} is not the current one, and no action makes it current again`,
      }
    : { reason: 'ReleaseUnknown', message: `no official release "${release}" is known to the daemon` };
  return { kind: 'stalled', obstacle, holdSync: isKnown };
}
