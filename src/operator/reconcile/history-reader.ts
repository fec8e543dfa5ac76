import type { Logger } from '../../platform/logging/logging.ts';
import type { ReleaseChannel } from '../kubernetes/objects.ts';
import type { ReleaseRow, ServerClient } from '../pods/server-client.ts';
import type { Observation } from './observer.ts';
import type { ChannelMemory } from './status-writer.ts';

/** Releases of a history that are kept; a status shows fewer. */
const HISTORY_KEPT = 20;

/**
 * Makes the function that reads the history of a channel, newest first. The history is long, so it is read only when the
 * current release or its verification changed; `null` until it was read once.
 */
export function createHistoryReader(options: {
  readonly client: Pick<ServerClient, 'releases'>;
  readonly logger: Logger;
}): (
  channel: ReleaseChannel,
  observed: Observation,
  memory: ChannelMemory,
) => Promise<readonly ReleaseRow[] | null> {
  return async (channel, { token, pods, outcomes }, memory) => {
    const at = outcomes.findIndex(({ status }) => status !== null);
    const [status, pod] = [outcomes[at]?.status ?? null, pods[at]];
    if (status === null || pod === undefined || token === null) return memory.history?.rows ?? null;
    const current = status[channel.spec.channel];
    const of = `${current?.release_id} ${current?.state} ${current?.verified_at} ${current?.damaged_count}`;
    if (memory.history?.of === of) return memory.history.rows;
    try {
      const rows = await options.client.releases(pod.origin, token, channel.spec.channel);
      memory.history = { of, rows: rows.slice(0, HISTORY_KEPT) };
    } catch (error) {
      options.logger.debug({ err: error, channel: channel.key }, 'cannot read the history');
    }
    return memory.history?.rows ?? null;
  };
}
