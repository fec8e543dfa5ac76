import { CoordinationV1Api, CoreV1Api, CustomObjectsApi, EventsV1Api } from '@kubernetes/client-node';
import type { ClusterConnection } from '../platform/kubernetes/cluster-connection.ts';
import { retryAfterOf } from '../platform/kubernetes/kubernetes-error.ts';
import type { Logger } from '../platform/logging/logging.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Lifecycle } from '../platform/process/lifecycle.ts';
import { createChannelWriter } from './channels/channel-writer.ts';
import { createClusterView, type ClusterView } from './channels/cluster-view.ts';
import { createRivalry, type Rivalry } from './reconcile/rivalry.ts';
import type { OperatorConfiguration } from './config.ts';
import { createLeaderElection, type LeaderElection } from './election/leader-election.ts';
import { alwaysLeading, LeadershipLost, type Leadership } from './election/leadership.ts';
import { createCollections } from './kubernetes/collections.ts';
import type { ReleaseChannel } from './kubernetes/objects.ts';
import { createPermissionBook, type PermissionBook } from './kubernetes/permission-book.ts';
import type { OperatorMetrics } from './metrics.ts';
import { createAdminTokens, type AdminTokens } from './pods/admin-tokens.ts';
import { createEvidenceBook, type EvidenceBook } from './pods/evidence-book.ts';
import { createServerClient, type ServerClient } from './pods/server-client.ts';
import { edgePods, serverPods, type ServerPod } from './pods/server-pods.ts';
import { createDaemonStep } from './reconcile/daemon-step.ts';
import { createScheduleCleaner, type ScheduleCleaner } from './reconcile/schedule-cleaner.ts';
import { createReconciler, type Reconciler } from './reconcile/reconciler.ts';
import { createWorkQueue, type WorkQueue } from './reconcile/work-queue.ts';

/** The surroundings of the operator. */
export interface OperatorOptions {
  readonly connection: ClusterConnection;
  readonly clock: Clock;
  /** 0 (inclusive) to 1, for jitter. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly lifecycle: Lifecycle;
  readonly version: string;
  /** Unique to this process; the holder of the lease. */
  readonly identity: string;
  /** Makes a name that sorts by time, for events. */
  readonly createId: () => string;
}

/** The connected parts of the operator; none of them is started. */
export interface OperatorParts {
  readonly servers: ServerClient;
  readonly permissions: PermissionBook;
  /** `null` when there is no election. */
  readonly election: LeaderElection | null;
  readonly leadership: Leadership;
  readonly view: ClusterView;
  readonly evidence: EvidenceBook;
  readonly tokens: AdminTokens;
  readonly cleaner: ScheduleCleaner;
  readonly queue: WorkQueue;
}

/** First pause after a failure, milliseconds; it grows to the interval. */
const FIRST_BACKOFF_MS = 500;

/**
 * Connects the parts: changes in the cluster put objects into the queue, and the queue reconciles them.
 *
 * @param onElected called when this process becomes the leader
 */
export function assembleOperator(
  config: OperatorConfiguration,
  options: OperatorOptions,
  metrics: OperatorMetrics,
  onElected: () => void,
): OperatorParts {
  const { connection, clock, random, logger, version } = options;
  const userAgent = `slipway-operator/${version}`;
  const servers = createServerClient({ timeoutMs: config.pods.timeoutMs, userAgent });
  const permissions = createPermissionBook(logger);
  const election = config.election.enabled ? makeElection(config, options, onElected) : null;
  const leadership = election ?? alwaysLeading;
  const evidence = createEvidenceBook({ client: servers, clock, staleMs: config.pods.staleSeconds * 1000 });
  const secrets = connection.api(CoreV1Api);
  const tokens = createAdminTokens({ secrets, call: connection.call, permissions, clock });
  const view = createClusterView({
    collections: createCollections(connection),
    namespaces: config.watch.namespaces,
    silentMs: config.watch.silentSeconds * 1000,
    clock,
    random,
    logger,
    onTurn: (kind, turn) => {
      metrics.turned(kind, turn);
    },
    onChannel: (before, after) => {
      const channel = after ?? before;
      if (channel === undefined || reconciler.isOwnChange(before, after)) return;
      if (after === undefined && !view.exists(channel.key)) cleaner.deleted(channel);
      queue.add(channel.key);
      if (before?.isDeleting === after?.isDeleting) return;
      for (const rival of rivalry.rivals(channel)) queue.add(rival.key);
    },
    onService: (namespace, name) => {
      const origin = view.service(namespace, name)?.edgesOf ?? null;
      for (const changed of origin === null ? [name] : [name, origin]) {
        // Another Service may lead to the same pods now.
        for (const service of view.servicesWithPodsOf(namespace, changed))
          for (const channel of view.channelsOf(namespace, service)) queue.add(channel.key);
      }
    },
  });
  const rivalry = createRivalry(view);
  const connected = { servers, permissions, election, leadership, view, evidence, tokens };
  const { reconciler, cleaner } = makeReconciler(config, options, connected, rivalry);
  const queue = makeQueue(config, options, reconciler, metrics);
  return { ...connected, cleaner, queue };
}

function makeElection(
  config: OperatorConfiguration,
  { connection, identity, clock, logger, lifecycle }: OperatorOptions,
  onElected: () => void,
): LeaderElection {
  return createLeaderElection({
    leases: connection.api(CoordinationV1Api),
    call: connection.call,
    namespace: config.election.namespace ?? connection.namespace,
    name: config.election.name,
    identity,
    timing: config.election,
    clock,
    logger,
    onElected,
    onLost: () => {
      void lifecycle.shutdown('the leadership was lost', 1);
    },
  });
}

function makeReconciler(
  config: OperatorConfiguration,
  { connection, clock, logger, identity, createId }: OperatorOptions,
  parts: Omit<OperatorParts, 'cleaner' | 'queue'>,
  rivalry: Rivalry,
): { readonly reconciler: Reconciler; readonly cleaner: ScheduleCleaner } {
  const { servers, permissions, leadership, view, evidence, tokens } = parts;
  const pods = ({ namespace, spec }: ReleaseChannel): ReturnType<typeof serverPods> => {
    const { name, port } = spec.serverRef;
    return serverPods(
      { namespace, name, port },
      view.service(namespace, name),
      view.slices(namespace, name),
      config.pods.hostOverride ?? null,
    );
  };
  const edges = ({ namespace, spec }: ReleaseChannel): readonly ServerPod[] | null => {
    const services = [...view.edgeServices(namespace, spec.serverRef.name)];
    if (services.length === 0) return null;
    const found = services.flatMap((service) =>
      edgePods(service, view.slices(namespace, service.name), config.pods.hostOverride ?? null),
    );
    // A pod can be behind several Services.
    return [...new Map(found.map((pod) => [pod.name, pod])).values()].sort((left, right) =>
      left.name < right.name ? -1 : 1,
    );
  };
  const writer = createChannelWriter({
    channels: connection.api(CustomObjectsApi),
    events: connection.api(EventsV1Api),
    call: connection.call,
    leadership,
    permissions,
    clock,
    logger,
    identity,
    createId,
  });
  const timeoutMs = config.reconcile.finalizeSeconds * 1000;
  const cleaner = createScheduleCleaner({
    client: servers,
    leadership,
    writer,
    tokens,
    pods,
    clock,
    timeoutMs,
  });
  const reconciler = createReconciler({
    channel: (key) => view.channel(key),
    pods,
    edges,
    evidence,
    tokens,
    client: servers,
    leadership,
    rival: rivalry.obstacle,
    daemonStep: createDaemonStep({ client: servers, leadership, isActing: rivalry.isActing }),
    cleaner,
    writer,
    clock,
    logger,
  });
  return { reconciler, cleaner };
}

function makeQueue(
  config: OperatorConfiguration,
  { clock, random, logger, lifecycle }: OperatorOptions,
  reconciler: Reconciler,
  metrics: OperatorMetrics,
): WorkQueue {
  const intervalMs = config.reconcile.intervalSeconds * 1000;
  const work = async (key: string): Promise<void> => {
    const begun = clock.monotonic();
    try {
      const outcome = await reconciler.reconcile(key);
      metrics.reconciled(outcome, (clock.monotonic() - begun) / 1000);
      if (outcome === 'gone') queue.forget(key);
      else if (outcome === 'waiting') queue.addFailed(key, null);
      else {
        queue.succeeded(key);
        queue.addAfter(key, intervalMs * (0.9 + 0.2 * random()));
      }
    } catch (error) {
      metrics.reconciled('failed', (clock.monotonic() - begun) / 1000);
      if (error instanceof LeadershipLost || lifecycle.signal.aborted) return;
      logger.warn({ err: error, channel: key }, 'a reconciliation failed and will be retried');
      queue.addFailed(key, retryAfterOf(error));
    }
  };
  const queue = createWorkQueue({
    work,
    concurrency: config.reconcile.concurrency,
    backoff: { baseMs: Math.min(FIRST_BACKOFF_MS, intervalMs), capMs: intervalMs },
    clock,
    random,
  });
  return queue;
}
