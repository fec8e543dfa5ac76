import { messageOf } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { LeadershipLost, type Leadership } from '../election/leadership.ts';
import type { ReleaseChannel } from '../kubernetes/objects.ts';
import type { ServerClient } from '../pods/server-client.ts';
import type { Observation } from './observer.ts';
import { areWhole } from './whole-edges.ts';

/** Seconds before its switch from which a release is left alone: the daemon has no nearer time that every edge would hear of. */
const NEAR_SECONDS = 20;

export interface EarlySwitchOptions {
  readonly client: Pick<ServerClient, 'control'>;
  readonly leadership: Leadership;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/**
 * Makes the step that asks the origin to bring a switch forward when every edge that gets requests has the announced release whole.
 * Nothing depends on it: without it, the release becomes current at the stated time. So a refusal is only logged.
 */
export function createEarlySwitch({
  client,
  leadership,
  clock,
  logger,
}: EarlySwitchOptions): (channel: ReleaseChannel, observed: Observation) => Promise<void> {
  return async (channel, { pods, edges, token, obstacle }) => {
    const { spec, uid, key } = channel;
    if (edges === null || token === null || obstacle !== null || spec.suspend) return;
    for (const { origin, name, health, failure } of pods) {
      const announced = failure === null ? health?.announced?.[spec.channel] : null;
      if (announced === null || announced === undefined) continue;
      const { release_id: releaseId, current_at: currentAt } = announced;
      // A release that an object does not want comes at its time, and not earlier.
      if (spec.release !== undefined && spec.release !== releaseId) continue;
      if (currentAt - clock.now() / 1000 <= NEAR_SECONDS) continue;
      if (!areWhole(edges, spec.channel, releaseId)) continue;
      const about = { channel: key, pod: name, release_id: releaseId };
      try {
        await leadership.act(
          async (signal) =>
            await client.control(
              origin,
              token,
              'refresh',
              { args: [`current=${releaseId}`] },
              // Each announcement is brought forward once, however often the object is reconciled meanwhile.
              { key: `${uid}:current:${releaseId}:${currentAt}`, signal },
            ),
        );
        logger.info(about, 'every edge has the announced release, so its switch is brought forward');
      } catch (error) {
        if (error instanceof LeadershipLost) throw error;
        logger.warn(
          { ...about, err: error },
          `the switch is not brought forward, and comes at its stated time: ${messageOf(error)}`,
        );
      }
    }
  };
}
