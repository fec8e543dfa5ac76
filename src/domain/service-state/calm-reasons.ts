import type { Channel } from '../release/channel.ts';
import type { ServiceReason } from './service-reasons.ts';

/** Reasons for an empty localized channel that nobody has to fix: there is nothing to serve. */
export const RESTING_REASONS = ['NothingPublished', 'ReleaseWithdrawn'] as const satisfies ServiceReason[];

export type RestingReason = (typeof RESTING_REASONS)[number];

/** All reasons for which nobody has to act while the localized channel serves nothing. The others end automatically. */
export const CALM_REASONS = [
  ...RESTING_REASONS,
  'LocalizedFollowing',
  'SnapshotLoading',
] as const satisfies ServiceReason[];

const RESTING: ReadonlySet<string | null> = new Set(RESTING_REASONS);
const CALM: ReadonlySet<string | null> = new Set(CALM_REASONS);

/** Whether a reason is one of {@link RESTING_REASONS}. */
export function isResting(reason: string | null): reason is RestingReason {
  return RESTING.has(reason);
}

/** Whether nobody has to act while a channel serves nothing for this reason. The official channel must always serve. */
export function isCalm(channel: Channel, reason: string | null): boolean {
  return channel === 'localized' && CALM.has(reason);
}
