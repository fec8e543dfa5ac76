import { isResting } from '../../domain/service-state/calm-reasons.ts';
import { describeState } from '../../domain/service-state/describe-state.ts';
import type { ServiceState } from '../../domain/service-state/service-state.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { ChannelCondition } from '../../contract/crd/release-channel.ts';
import type { PodHealth } from '../pods/pod-health.ts';

export interface Finding {
  readonly status: ChannelCondition['status'];
  readonly reason: string;
  readonly message: string;
}

/** The state of a channel as the server in a pod decides it; `null` without a fresh answer. */
export function channelState(pod: PodHealth, channel: Channel): ServiceState | null {
  return pod.health?.service?.channels[channel] ?? null;
}

/** The condition `Healthy`: the state, the reason and the next step of the first pod whose channel needs attention. */
export function healthyCondition(pods: readonly PodHealth[], channel: Channel): Finding {
  const known = pods.flatMap((pod) => {
    const state = channelState(pod, channel);
    return state === null ? [] : [{ pod, state }];
  });
  const troubled = known.filter(({ state }) => state.reason !== null);
  const [first] = troubled;
  if (first !== undefined) {
    const { pod, state } = first;
    const more = troubled.length > 1 ? ` (and ${troubled.length - 1} more)` : '';
    return {
      // Nothing to serve is neither good nor bad.
      status: isResting(state.reason) ? 'Unknown' : 'False',
      reason: state.reason ?? '',
      message: `pod ${pod.name}: ${state.state}: ${describeState(state)}${more}`,
    };
  }
  if (known.length < pods.length || pods.length === 0) {
    return { status: 'Unknown', reason: 'StateUnknown', message: 'not every pod has reported its state' };
  }
  return { status: 'True', reason: 'Healthy', message: known[0]?.state.message ?? '' };
}
