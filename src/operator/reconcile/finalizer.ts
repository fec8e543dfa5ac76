import { SCHEDULES_FINALIZER } from '../../contract/crd/resource-names.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { LeadershipLost, type Leadership } from '../election/leadership.ts';
import type { ChannelWriter } from '../channels/channel-writer.ts';
import { hasFinalizer, type ReleaseChannel } from '../kubernetes/objects.ts';
import type { AdminTokens } from '../pods/admin-tokens.ts';
import type { ServerClient } from '../pods/server-client.ts';
import type { Obstacle, ServerPod } from '../pods/server-pods.ts';
import type { Result } from '../../domain/result.ts';
import { ignore } from './daemon-step.ts';
import { scheduleIds } from './desired-schedules.ts';
import { messageOf } from '../../platform/errors.ts';

/** How schedules are removed, and for how long it is tried. */
export interface FinalizerOptions {
  readonly client: Pick<ServerClient, 'control'>;
  readonly leadership: Leadership;
  readonly writer: ChannelWriter;
  readonly tokens: AdminTokens;
  readonly pods: (channel: ReleaseChannel) => Result<readonly ServerPod[], Obstacle>;
  readonly clock: Clock;
  /** How long a deletion waits for a server that does not answer, milliseconds. */
  readonly timeoutMs: number;
}

/** Removes the schedules of an object, then its finalizer. */
export interface Finalizer {
  /** Adds the finalizer to an object. */
  hold(channel: ReleaseChannel): Promise<void>;
  /**
   * Handles an object that is being deleted.
   *
   * @returns whether the finalizer is gone; otherwise call it again later
   * @throws KubernetesError, LeadershipLost
   */
  release(channel: ReleaseChannel): Promise<boolean>;
  /** Forgets an object. */
  forget(key: string): void;
}

/**
 * Makes a finalizer. A server that is gone cannot block the deletion of an object. Without its Service the object is
 * released immediately, and after any other failure within a bounded time, counted from when this process saw the deletion.
 */
export function createFinalizer(options: FinalizerOptions): Finalizer {
  const { leadership, writer, clock } = options;
  const seen = new Map<string, { readonly uid: string; readonly at: number }>();

  /** @returns the problem, or `null` */
  const removeSchedules = async (channel: ReleaseChannel): Promise<string | null> => {
    const pods = options.pods(channel);
    if (!pods.ok) return pods.error.reason === 'ServiceNotFound' ? null : pods.error.message;
    if (pods.value.length === 0) return 'no pod stands behind the Service';
    const ref = { namespace: channel.namespace, ...channel.spec.adminTokenSecretRef };
    const token = await options.tokens.read(ref);
    if (!token.ok) return token.error.message;
    for (const pod of pods.value) {
      try {
        for (const id of scheduleIds(channel)) {
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
    hold: async (channel) => {
      await writer.setFinalizers(channel, [...channel.finalizers, SCHEDULES_FINALIZER]);
    },
    release: async (channel) => {
      if (!hasFinalizer(channel)) return true;
      const known = seen.get(channel.key);
      const begun = known?.uid === channel.uid ? known.at : clock.monotonic();
      seen.set(channel.key, { uid: channel.uid, at: begun });
      const trouble = await removeSchedules(channel);
      if (trouble !== null && clock.monotonic() - begun < options.timeoutMs) return false;
      if (trouble !== null) {
        await writer.record(channel, {
          type: 'Warning',
          reason: 'SchedulesLeft',
          note: `deleted without removing its schedules (${scheduleIds(channel).join(', ')}): ${trouble}`,
        });
      }
      const others = channel.finalizers.filter((finalizer) => finalizer !== SCHEDULES_FINALIZER);
      await writer.setFinalizers(channel, others);
      return true;
    },
    forget: (key) => {
      seen.delete(key);
    },
  };
}
