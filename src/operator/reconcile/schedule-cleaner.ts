import { messageOf } from '../../platform/errors.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { ChannelWriter } from '../channels/channel-writer.ts';
import { LeadershipLost, type Leadership } from '../election/leadership.ts';
import type { ReleaseChannel } from '../kubernetes/objects.ts';
import type { AdminTokens } from '../pods/admin-tokens.ts';
import type { ServerClient } from '../pods/server-client.ts';
import type { ServerPod } from '../pods/server-pods.ts';
import type { PodsOf } from './observer.ts';
import { desiredSchedules, isScheduleOf } from './desired-schedules.ts';
import { isRefusedAs } from '../pods/admin-refused.ts';

export interface ScheduleCleaner {
  deleted(channel: ReleaseChannel): void;
  /**
   * Removes the schedules of a deleted object.
   *
   * @returns whether nothing is left to do; otherwise call it again later
   * @throws KubernetesError, LeadershipLost
   */
  clean(key: string): Promise<boolean>;
  forget(key: string): void;
  /** Drops objects whose schedules another process had enough time to remove. */
  sweep(): void;
}

/** Time for another process to take over and remove the schedules, milliseconds. */
const TAKEOVER_MS = 60_000;

/**
 * Makes a cleaner. An object is not held back until its schedules are gone: the server, the Secret, the permissions or this
 * process may be gone forever, and then the object and its namespace would never be deleted. So the schedules are removed
 * afterwards, from memory, as long as the time allows.
 */
export function createScheduleCleaner(options: {
  readonly client: ServerClient;
  readonly leadership: Leadership;
  readonly writer: ChannelWriter;
  readonly tokens: AdminTokens;
  readonly pods: PodsOf;
  readonly clock: Clock;
  /** How long it is tried, milliseconds after the deletion. */
  readonly timeoutMs: number;
}): ScheduleCleaner {
  const { client, leadership, writer, clock, timeoutMs } = options;
  const deletedChannels = new Map<string, { readonly channel: ReleaseChannel; readonly at: number }>();

  const removeFrom = async ({ origin }: ServerPod, channel: ReleaseChannel, token: string): Promise<void> => {
    for (const { id } of await client.schedules(origin, token)) {
      if (!isScheduleOf(channel, id)) continue;
      try {
        await leadership.act(
          async (signal) =>
            await client.control(origin, token, 'schedule-remove', { id }, { key: null, signal }),
        );
      } catch (error) {
        if (!isRefusedAs(error, 'unknown_schedule')) throw error;
      }
    }
  };

  const removeSchedules = async (channel: ReleaseChannel): Promise<string | null> => {
    const found = options.pods(channel);
    if (!found.ok) return found.error.reason === 'ServiceNotFound' ? null : found.error.message;
    const pods = found.value.filter(({ endpoint }) => endpoint !== 'draining');
    if (pods.length === 0) return 'no pod stands behind the Service';
    const ref = { namespace: channel.namespace, ...channel.spec.adminTokenSecretRef };
    const token = await options.tokens.read(ref);
    if (!token.ok) return token.error.message;
    for (const pod of pods) {
      try {
        await removeFrom(pod, channel, token.value);
      } catch (error) {
        if (error instanceof LeadershipLost) throw error;
        options.tokens.refuse(ref);
        return `pod ${pod.name}: ${messageOf(error)}`;
      }
    }
    return null;
  };

  return {
    deleted: (channel) => {
      const known = deletedChannels.get(channel.key);
      if (known?.channel.uid !== channel.uid)
        deletedChannels.set(channel.key, { channel, at: clock.monotonic() });
    },
    clean: async (key) => {
      const found = deletedChannels.get(key);
      if (found === undefined) return true;
      const trouble = await removeSchedules(found.channel);
      if (trouble !== null && clock.monotonic() - found.at < timeoutMs) return false;
      deletedChannels.delete(key);
      if (trouble === null) return true;
      // Its server cannot be asked, so these are the schedules that its spec can have had.
      const ids = desiredSchedules(found.channel, true)
        .map(({ id }) => id)
        .join(', ');
      await writer.record(found.channel, {
        type: 'Warning',
        reason: 'SchedulesLeft',
        note: `deleted without removing its schedules (${ids}): ${trouble}`,
      });
      return true;
    },
    forget: (key) => {
      deletedChannels.delete(key);
    },
    sweep: () => {
      const now = clock.monotonic();
      for (const [key, { at }] of deletedChannels)
        if (now - at > timeoutMs + TAKEOVER_MS) deletedChannels.delete(key);
    },
  };
}
