import { messageOf } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { LeadershipLost, type Leadership } from '../election/leadership.ts';
import type { ReleaseChannel } from '../kubernetes/objects.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { ServerClient } from '../pods/server-client.ts';
import type { PodHealth } from '../pods/pod-health.ts';
import type { ObservedEdges, Observation } from './observer.ts';

/** Origins whose last request is remembered. Without it a request is sent again, which changes nothing. */
const MOST_REMEMBERED = 1000;

interface AskedSwitch {
  readonly releaseId: string;
  /** The stated time, Unix seconds. */
  readonly currentAt: number;
}

/** Whether the origin was asked before. A nearer time is its answer, and a later one is another announcement. */
function isSettled({ releaseId, currentAt }: AskedSwitch, before: AskedSwitch | undefined): boolean {
  return before?.releaseId === releaseId && currentAt <= before.currentAt;
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
}: {
  readonly client: ServerClient;
  readonly leadership: Leadership;
  readonly clock: Clock;
  readonly logger: Logger;
}): (channel: ReleaseChannel, observed: Observation) => Promise<void> {
  const remembered = new Map<string, AskedSwitch>();
  return async (channel, { pods, edges, token, obstacle }) => {
    const { spec, uid, key } = channel;
    if (edges === null || token === null || obstacle !== null || spec.suspend) return;
    for (const { origin, name, health, failure } of pods) {
      const announced = failure === null ? health?.announced[spec.channel] : null;
      if (announced === null || announced === undefined) continue;
      const { release_id: releaseId, current_at: currentAt } = announced;
      // A release that an object does not want comes at its time, and not earlier.
      if (spec.release !== undefined && spec.release !== releaseId) continue;
      if (currentAt <= clock.now() / 1000) continue;
      const asked = { releaseId, currentAt };
      if (isSettled(asked, remembered.get(`${uid}/${name}`))) continue;
      if (!haveWhole(edges, spec.channel, releaseId)) continue;
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
        if (remembered.size >= MOST_REMEMBERED) remembered.clear();
        remembered.set(`${uid}/${name}`, asked);
        logger.info(
          about,
          'every edge has the announced release, so the origin was asked to bring its switch forward',
        );
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

/**
 * Whether every edge that gets requests has a release complete. An edge that has just failed to answer is unknown, as is one
 * beyond those that are asked. Without an edge nobody knows for whom the release waits. Edges that start or shut down do not
 * count: clients do not reach them.
 */
function haveWhole({ ready, asked }: ObservedEdges, channel: Channel, releaseId: string): boolean {
  const serving = asked.filter(({ endpoint }) => endpoint === 'ready');
  return ready > 0 && serving.length === ready && serving.every((edge) => hasWhole(edge, channel, releaseId));
}

/** An edge can be ahead of its origin by the difference of the clocks. */
function hasWhole({ health, failure }: PodHealth, channel: Channel, releaseId: string): boolean {
  if (health === null || failure !== null) return false;
  if (health.announced[channel]?.release_id === releaseId) return true;
  const { distributable, release_id: currentId } = health.verdicts[channel];
  return distributable && currentId === releaseId;
}
