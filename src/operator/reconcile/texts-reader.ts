import { failure, success } from '../../domain/result.ts';
import { describeFailure, meaningOf } from '../pods/admin-refused.ts';
import type { ServerClient } from '../pods/server-client.ts';
import type { Texts } from './localization-status.ts';
import type { ScheduleTarget } from './schedule-keeper.ts';

/**
 * Makes the function that reads the translations of one daemon, for a localized channel. Nothing else depends on them, so a
 * failure is a value.
 */
export function createTextsReader(
  client: Pick<ServerClient, 'translationStatus'>,
): (target: ScheduleTarget) => Promise<Texts | null> {
  return async ({ channel, pod, token }) => {
    if (channel.spec.channel !== 'localized') return null;
    try {
      return success(await client.translationStatus(pod.origin, token));
    } catch (error) {
      const message = `pod ${pod.name}: translations: ${describeFailure(error)}`;
      return failure({ reason: meaningOf(error), message });
    }
  };
}
