import type { Result } from '../../domain/result.ts';
import { messageOf } from '../../platform/errors.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { ChannelWriter } from '../channels/channel-writer.ts';
import { LeadershipLost, type Leadership } from '../election/leadership.ts';
import type { ReleaseChannel } from '../kubernetes/objects.ts';
import type { AdminTokens } from '../pods/admin-tokens.ts';
import type { ServerClient } from '../pods/server-client.ts';
import type { Obstacle, ServerPod } from '../pods/server-pods.ts';
import { desiredSchedules, isScheduleOf } from './desired-schedules.ts';
import { ignore } from './schedule-keeper.ts';

/** How schedules are removed, and for how long it is tried. */
export interface ScheduleCleanerOptions {
  readonly client: Pick<ServerClient, 'control' | 'schedules'>;
  readonly leadership: Leadership;
  readonly writer: Pick<ChannelWriter, 'record'>;
  readonly tokens: AdminTokens;
  readonly pods: (channel: ReleaseChannel) => Result<readonly ServerPod[], Obstacle>;
  readonly clock: Clock;
  /** How long it is tried, milliseconds after the deletion. */
  readonly timeoutMs: number;
}

/** Removes the schedules of deleted objects from their servers. */
export interface ScheduleCleaner {
  /** Remembers an object that was deleted. */
  deleted(channel: ReleaseChannel): void;
  /**
   * Removes the schedules of a deleted object.
   *
   * @returns whether nothing is left to do; otherwise call it again later
   * @throws KubernetesError, LeadershipLost
   */
  clean(key: string): Promise<boolean>;
  /** Forgets an object that exists again. */
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
export function createScheduleCleaner(options: ScheduleCleanerOptions): ScheduleCleaner {
  const { leadership, writer, clock, timeoutMs } = options;
  const deletedChannels = new Map<string, { readonly channel: ReleaseChannel; readonly at: number }>();

  /** @returns the problem, or `null` */
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
        const reported = await options.client.schedules(pod.origin, token.value);
        for (const { id } of reported.filter((schedule) => isScheduleOf(channel, schedule.id))) {
          await leadership
            .act(
              async (signal) =>
                await options.client.control(
                  pod.origin,
                  token.value,
                  'schedule-remove',
                  { id },
                  { key: null, signal },
                ),
            )
            .catch(ignore('unknown_schedule'));
        }
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
