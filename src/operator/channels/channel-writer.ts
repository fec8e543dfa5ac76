import {
  PatchStrategy,
  V1MicroTime,
  type CustomObjectsApi,
  type EventsV1Api,
  type EventsV1Event,
} from '@kubernetes/client-node';
import {
  API_GROUP,
  API_VERSION,
  GROUP_VERSION,
  RELEASE_CHANNEL_KIND,
  RELEASE_CHANNEL_PLURAL,
} from '../../contract/crd/resource-names.ts';
import type { ClusterConnection } from '../../platform/kubernetes/cluster-connection.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Leadership } from '../election/leadership.ts';
import { parseReleaseChannel, type ReleaseChannel } from '../kubernetes/objects.ts';
import type { MissingPermissions } from '../kubernetes/missing-permissions.ts';

const FIELD_MANAGER = 'slipway-operator';
/** Longest note of an event, characters. Source: Kubernetes API reference, events.k8s.io/v1. */
const NOTE_MAX = 1024;

export interface ChannelEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly note: string;
}

/** Writes to the API server; only while this process leads. */
export interface ChannelWriter {
  /**
   * Applies a status in one call, and takes over fields that others wrote into it.
   *
   * @param status the part of a ReleaseChannelStatus that the definition takes
   * @returns the resource version of the object with this status
   * @throws KubernetesError, HttpFailure, LeadershipLost
   */
  applyStatus(channel: ReleaseChannel, status: unknown): Promise<string>;
  /** Records an event. A failure is logged and not thrown. */
  record(channel: ReleaseChannel, event: ChannelEvent): Promise<void>;
}

interface ChannelWriterOptions {
  readonly channels: CustomObjectsApi;
  readonly events: EventsV1Api;
  readonly call: ClusterConnection['call'];
  readonly leadership: Leadership;
  readonly permissions: MissingPermissions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly identity: string;
  readonly createId: () => string;
}

export function createChannelWriter(options: ChannelWriterOptions): ChannelWriter {
  const { channels, events, call, leadership, permissions, logger } = options;

  /** @param what verb and kind, for a missing permission */
  const write = async <T>(what: string, effect: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    await permissions.watch(what, async () => await leadership.act(effect));

  return {
    applyStatus: async (channel, status) => {
      // With the uid, an object of the same name that was created since does not get this status.
      const metadata = { name: channel.name, namespace: channel.namespace, uid: channel.uid };
      const body = { apiVersion: GROUP_VERSION, kind: RELEASE_CHANNEL_KIND, metadata, status };
      const patch = {
        group: API_GROUP,
        version: API_VERSION,
        plural: RELEASE_CHANNEL_PLURAL,
        namespace: channel.namespace,
        name: channel.name,
        body,
        fieldManager: FIELD_MANAGER,
        force: true,
      };
      const contentType = PatchStrategy.ServerSideApply;
      const answer: unknown = await write(
        `patch ${RELEASE_CHANNEL_PLURAL}/status`,
        async (signal) =>
          await channels.patchNamespacedCustomObjectStatus(patch, call({ contentType, signal })),
      );
      return parseReleaseChannel(answer).resourceVersion;
    },
    record: async (channel, event) => {
      const { namespace } = channel;
      const body = eventOf(channel, event, options);
      try {
        await write(
          'create events',
          async (signal) => await events.createNamespacedEvent({ namespace, body }, call({ signal })),
        );
      } catch (error) {
        const { reason } = event;
        logger.debug({ err: error, channel: channel.key, reason }, 'cannot record an event');
      }
    },
  };
}

function eventOf(
  { namespace, name, uid, resourceVersion }: ReleaseChannel,
  { type, reason, note }: ChannelEvent,
  { clock, identity, createId }: ChannelWriterOptions,
): EventsV1Event {
  return {
    metadata: { name: `${name}.${createId().toLowerCase()}`, namespace },
    eventTime: new V1MicroTime(clock.now()),
    reportingController: 'slipway.dev/operator',
    reportingInstance: identity.slice(0, 128),
    action: 'Reconcile',
    type,
    reason,
    note: note.slice(0, NOTE_MAX),
    regarding: {
      apiVersion: GROUP_VERSION,
      kind: RELEASE_CHANNEL_KIND,
      name,
      namespace,
      uid,
      resourceVersion,
    },
  };
}
