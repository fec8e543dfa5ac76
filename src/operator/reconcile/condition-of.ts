import type { ConditionType } from '../../contract/crd/channel-reasons.ts';
import type { ChannelCondition, ReleaseChannelStatus } from '../../contract/crd/release-channel.ts';

/** The condition of a type, or `null`. */
export function conditionOf(
  status: ReleaseChannelStatus | null,
  type: ConditionType,
): ChannelCondition | null {
  return status?.conditions.find((condition) => condition.type === type) ?? null;
}
