import type { ReleaseChannelStatus } from '../../contract/crd/release-channel.ts';
import {
  GROUP_VERSION,
  RELEASE_CHANNEL_KIND,
  RELEASE_CHANNEL_PLURAL,
} from '../../contract/crd/resource-names.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Leadership } from '../election/leader-election.ts';
import { microTime } from '../election/lease.ts';
import type { KubernetesClient } from './kubernetes-client.ts';
import { parseReleaseChannel, type ReleaseChannel } from './objects.ts';
import type { PermissionBook } from './permission-book.ts';

/** Name under which the operator owns fields. */
export const FIELD_MANAGER = 'slipway-operator';
/** Longest note of an event, characters. Source: Kubernetes API reference, events.k8s.io/v1. */
const NOTE_MAX = 1024;

/** Something worth telling the owner of an object. */
export interface ChannelEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly note: string;
}

/** Everything that the operator writes to the API server; only while it leads. */
export interface ChannelWriter {
  /**
   * Applies the whole status, one call, taking over what others may have written into it.
   *
   * @returns the version of the object with it
   * @throws KubernetesError, LeadershipLost
   */
  applyStatus(channel: ReleaseChannel, status: ReleaseChannelStatus): Promise<string>;
  /** Replaces the finalizers, unless the object has changed meanwhile. @throws KubernetesError, LeadershipLost */
  setFinalizers(channel: ReleaseChannel, finalizers: readonly string[]): Promise<void>;
  /** Records an event; that it cannot be is logged and no more. */
  record(channel: ReleaseChannel, event: ChannelEvent): Promise<void>;
}

/** What {@link createChannelWriter} needs. */
export interface ChannelWriterOptions {
  readonly client: Pick<KubernetesClient, 'call'>;
  readonly leadership: Leadership;
  readonly permissions: PermissionBook;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Name of this process in events. */
  readonly identity: string;
  readonly createId: () => string;
}

/** Makes a writer. */
export function createChannelWriter(options: ChannelWriterOptions): ChannelWriter {
  const { client, leadership, permissions, clock, logger } = options;

  return {
    applyStatus: async (channel, status) => {
      const answer = await permissions.watch(
        `patch ${RELEASE_CHANNEL_PLURAL}/status`,
        async () =>
          await leadership.act(
            async (signal) =>
              await client.call({
                method: 'PATCH',
                path: `${channelPath(channel)}/status`,
                query: { fieldManager: FIELD_MANAGER, force: 'true' },
                contentType: 'application/apply-patch+yaml',
                // The uid keeps an object of the same name that was made meanwhile from getting this status.
                body: {
                  apiVersion: GROUP_VERSION,
                  kind: RELEASE_CHANNEL_KIND,
                  metadata: { name: channel.name, namespace: channel.namespace, uid: channel.uid },
                  status,
                },
                signal,
              }),
          ),
      );
      return parseReleaseChannel(answer).resourceVersion;
    },
    setFinalizers: async (channel, finalizers) => {
      await permissions.watch(
        `patch ${RELEASE_CHANNEL_PLURAL}`,
        async () =>
          await leadership.act(
            async (signal) =>
              await client.call({
                method: 'PATCH',
                path: channelPath(channel),
                query: { fieldManager: FIELD_MANAGER },
                contentType: 'application/merge-patch+json',
                body: {
                  metadata: { uid: channel.uid, resourceVersion: channel.resourceVersion, finalizers },
                },
                signal,
              }),
          ),
      );
    },
    record: async (channel, { type, reason, note }) => {
      const event = {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: {
          name: `${channel.name}.${options.createId().toLowerCase()}`,
          namespace: channel.namespace,
        },
        eventTime: microTime(clock.now()),
        reportingController: 'slipway.dev/operator',
        reportingInstance: options.identity.slice(0, 128),
        action: 'Reconcile',
        type,
        reason,
        note: note.slice(0, NOTE_MAX),
        regarding: {
          apiVersion: GROUP_VERSION,
          kind: RELEASE_CHANNEL_KIND,
          name: channel.name,
          namespace: channel.namespace,
          uid: channel.uid,
          resourceVersion: channel.resourceVersion,
        },
      };
      const path = `/apis/events.k8s.io/v1/namespaces/${channel.namespace}/events`;
      try {
        await permissions.watch(
          'create events',
          async () =>
            await leadership.act(
              async (signal) => await client.call({ method: 'POST', path, body: event, signal }),
            ),
        );
      } catch (error) {
        logger.debug({ err: error, channel: channel.key, reason }, 'an event could not be recorded');
      }
    },
  };
}

function channelPath({ namespace, name }: ReleaseChannel): string {
  return `/apis/${GROUP_VERSION}/namespaces/${namespace}/${RELEASE_CHANNEL_PLURAL}/${name}`;
}
