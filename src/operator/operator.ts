import { CoordinationV1Api, CoreV1Api, CustomObjectsApi, EventsV1Api } from '@kubernetes/client-node';
import { RELEASE_CHANNEL_PLURAL } from '../contract/crd/resource-names.ts';
import { JSON_MEDIA_TYPE } from '../contract/json/media-types.ts';
import { messageOf } from '../platform/errors.ts';
import { createSideServer, type SideAnswer } from '../platform/http/side-server.ts';
import type { ClusterConnection } from '../platform/kubernetes/cluster-connection.ts';
import { retryAfterOf } from '../platform/kubernetes/kubernetes-error.ts';
import type { Logger } from '../platform/logging/logging.ts';
import { createMetricsServer, createRegistry } from '../platform/metrics/metrics.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Lifecycle } from '../platform/process/lifecycle.ts';
import { createChannelWriter, type ChannelWriter } from './channels/channel-writer.ts';
import { createClusterView, type ClusterView } from './channels/cluster-view.ts';
import type { OperatorConfiguration } from './config.ts';
import { createLeaderElection, type LeaderElection } from './election/leader-election.ts';
import { alwaysLeading, LeadershipLost, type Leadership } from './election/leadership.ts';
import { collectionsOf } from './kubernetes/collections.ts';
import { createChannelDefinition, type ChannelDefinition } from './kubernetes/channel-definition.ts';
import type { ReleaseChannel } from './kubernetes/objects.ts';
import { MissingPermissions } from './kubernetes/missing-permissions.ts';
import { createOperatorMetrics, type OperatorMetrics } from './metrics.ts';
import { createAdminTokens } from './pods/admin-tokens.ts';
import { createPodHealthCache } from './pods/pod-health.ts';
import { createServerClient, type ServerClient } from './pods/server-client.ts';
import { edgesOfServer, serverPods } from './pods/server-pods.ts';
import type { EdgesOf, PodsOf } from './reconcile/observer.ts';
import { createReconciler, type Reconciler } from './reconcile/reconciler.ts';
import { ReconcileFailures } from './reconcile/reconcile-failures.ts';
import { rivalsOf } from './reconcile/rivalry.ts';
import { createScheduleCleaner, type ScheduleCleaner } from './reconcile/schedule-cleaner.ts';
import { createWorkQueue, type WorkQueue } from './reconcile/work-queue.ts';

interface OperatorOptions {
  readonly connection: ClusterConnection;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly lifecycle: Lifecycle;
  readonly version: string;
  /** Unique to this process; the holder of the lease. */
  readonly identity: string;
  /** Makes a name that sorts by time, for events. */
  readonly createId: () => string;
}

/** First pause after a failure, milliseconds; it grows to the interval. */
const FIRST_BACKOFF_MS = 500;
const SWEEP_MS = 60_000;
/** After so many failures in a row an event tells of them, and the alert of the chart begins to wait. */
const FAILURES_TOLD = 3;
/** How often it is checked whether the caches are filled. */
const SYNC_POLL_MS = 50;

/** Starts the operator: probes and metrics first, then the caches and the election. @throws ListenError */
export async function startOperator(config: OperatorConfiguration, options: OperatorOptions): Promise<void> {
  const { connection, clock, logger, lifecycle, identity, version } = options;
  const registry = createRegistry({ name: 'slipway-operator', version });
  const metrics = createOperatorMetrics(registry);
  const operator = assembleOperator(config, options, metrics);
  const { view, election, queue } = operator;

  const probes = await createSideServer({
    ...config.probes,
    paths: {
      '/livez': () => probeAnswer(livenessProblems(config, election), []),
      '/readyz': () =>
        probeAnswer(operator.readinessProblems(), [
          ...operator.definition.warnings(),
          ...operator.failures.warnings(),
        ]),
    },
    subject: 'Probes answer',
    onError: (error) => {
      logger.error({ err: error }, 'a probe could not be answered');
    },
  });
  lifecycle.onShutdown('probes', async (signal) => probes.close(signal));
  const metricsServer = await createMetricsServer({ registry, ...config.metrics, logger });
  lifecycle.onShutdown('metrics', async (signal) => metricsServer.close(signal));
  metrics.observe({
    channels: () => view.channels(),
    queued: () => queue.ready,
    isLeading: operator.isLeading,
    failuresOf: (key) => operator.failures.countOf(key),
    missingFields: () => operator.definition.gaps()?.length ?? null,
  });
  lifecycle.onShutdown('connections', async () => {
    operator.client.close();
    await connection.close();
  });
  lifecycle.onShutdown('lease', async () => election?.stop());
  lifecycle.onShutdown('caches', async () => view.stop());
  lifecycle.onShutdown('queue', async () => queue.stop());

  view.start();
  election?.start();
  // It never fails.
  void operator.definition.refresh();
  const housekeeping = async (): Promise<void> => {
    while (!view.state().synced) await clock.sleep(SYNC_POLL_MS, lifecycle.signal);
    operator.cachesFilled();
    for (;;) {
      await clock.sleep(SWEEP_MS, lifecycle.signal);
      operator.sweep();
      await operator.definition.refresh();
    }
  };
  // It ends only with the signal of the lifecycle.
  housekeeping().catch(() => undefined);
  logger.info(
    { url: probes.url, metrics_url: metricsServer.url, server: connection.server, identity },
    'operator listening',
  );
}

/** The connected parts of the operator; none of them is started. */
interface Operator {
  readonly client: ServerClient;
  readonly election: LeaderElection | null;
  readonly view: ClusterView;
  readonly queue: WorkQueue;
  readonly isLeading: () => boolean;
  readonly definition: ChannelDefinition;
  readonly failures: ReconcileFailures;
  /** Starts the queue as soon as this process leads. */
  cachesFilled(): void;
  readinessProblems(): readonly string[];
  /** Drops expired records. */
  sweep(): void;
}

/** Connects the parts: changes in the cluster put objects into the queue, and the queue reconciles them. */
function assembleOperator(
  config: OperatorConfiguration,
  options: OperatorOptions,
  metrics: OperatorMetrics,
): Operator {
  const { connection, clock, random, logger, lifecycle } = options;
  const { call } = connection;
  const userAgent = `slipway-operator/${options.version}`;
  const client = createServerClient(config.pods.timeoutMs, userAgent);
  const permissions = new MissingPermissions(logger);
  const health = createPodHealthCache({ client, clock, staleMs: config.pods.staleSeconds * 1000 });
  const tokens = createAdminTokens({ secrets: connection.api(CoreV1Api), call, permissions, clock });
  const { signal } = lifecycle;
  const definition = createChannelDefinition({ connection, clock, logger, signal }, (isOther) => {
    startWithout('definition');
    if (isOther) for (const { key } of view.channels()) queue.add(key);
  });
  const failures = new ReconcileFailures();
  const awaited = new Set(['caches', 'definition', ...(config.election.enabled ? ['election'] : [])]);
  const startWithout = (reason: string): void => {
    awaited.delete(reason);
    if (awaited.size === 0) queue.start();
  };
  const election = createElection(config, options, () => {
    startWithout('election');
  });
  const leadership = election ?? alwaysLeading;
  const view: ClusterView = createClusterView({
    collections: collectionsOf(connection),
    namespaces: config.watch.namespaces,
    silentMs: config.watch.silentSeconds * 1000,
    clock,
    random,
    logger,
    onTurn: (kind, turn) => {
      metrics.turned(kind, turn);
      // A changed definition ends the watches of its objects.
      if (kind === RELEASE_CHANNEL_PLURAL) void definition.mayHaveChanged();
    },
    onChannel: (before, after) => {
      noteChannel({ view, reconciler, cleaner, queue }, before, after);
    },
    onService: (namespace, name) => {
      for (const { key } of channelsBehind(view, namespace, name)) queue.add(key);
    },
  });
  const writer = createWriter(options, leadership, permissions);
  const host = config.pods.hostOverride ?? null;
  const pods: PodsOf = (channel) => serverPods(view, channel, host);
  const edges: EdgesOf = (channel) => edgesOfServer(view, channel, host);
  const timeoutMs = config.reconcile.finalizeSeconds * 1000;
  const cleaner = createScheduleCleaner({ client, leadership, writer, tokens, pods, clock, timeoutMs });
  const observed = { view, pods, edges, health, tokens, definition, started: new Map<string, string>() };
  const reconciler = createReconciler({ ...observed, client, leadership, writer, cleaner, clock, logger });
  const queue = createReconcileQueue(config, options, {
    reconciler,
    metrics,
    failures,
    onFailing: tellOfFailures(view, writer),
  });
  return {
    client,
    election,
    view,
    queue,
    isLeading: () => leadership.isHeld(),
    definition,
    failures,
    cachesFilled: () => {
      startWithout('caches');
    },
    readinessProblems: () => readinessProblems(view, permissions, signal),
    sweep: () => {
      for (const each of [health, tokens, cleaner]) each.sweep();
    },
  };
}

/** Queues a changed object, and those that compete with it for a channel. */
function noteChannel(
  parts: {
    readonly view: ClusterView;
    readonly reconciler: Reconciler;
    readonly cleaner: ScheduleCleaner;
    readonly queue: WorkQueue;
  },
  before: ReleaseChannel | undefined,
  after: ReleaseChannel | undefined,
): void {
  const { view, reconciler, cleaner, queue } = parts;
  const channel = after ?? before;
  if (channel === undefined || reconciler.isOwnChange(before, after)) return;
  if (after === undefined && !view.exists(channel.key)) cleaner.deleted(channel);
  queue.add(channel.key);
  if (before?.isDeleting === after?.isDeleting) return;
  for (const rival of rivalsOf(view, channel)) queue.add(rival.key);
}

function createWriter(
  { connection, clock, logger, identity, createId }: OperatorOptions,
  leadership: Leadership,
  permissions: MissingPermissions,
): ChannelWriter {
  const channels = connection.api(CustomObjectsApi);
  const events = connection.api(EventsV1Api);
  const { call } = connection;
  return createChannelWriter({
    channels,
    events,
    call,
    leadership,
    permissions,
    clock,
    logger,
    identity,
    createId,
  });
}

/** Records an event for an object that cannot be reconciled. */
function tellOfFailures(
  view: ClusterView,
  writer: ChannelWriter,
): (key: string, error: unknown) => Promise<void> {
  return async (key, error) => {
    const channel = view.channel(key);
    if (channel === undefined) return;
    const note = `${FAILURES_TOLD} reconciliations in a row failed, so the status is old: ${messageOf(error)}`;
    await writer.record(channel, { type: 'Warning', reason: 'ReconcileFailing', note });
  };
}

function createElection(
  config: OperatorConfiguration,
  { connection, identity, clock, logger, lifecycle }: OperatorOptions,
  onElected: () => void,
): LeaderElection | null {
  if (!config.election.enabled) return null;
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

/** The objects that a change of a Service concerns. */
function* channelsBehind(
  view: ClusterView,
  namespace: string,
  name: string,
): Generator<ReleaseChannel, void, undefined> {
  const origin = view.service(namespace, name)?.edgesOf ?? null;
  for (const changed of origin === null ? [name] : [name, origin]) {
    // Another Service may lead to the same pods now.
    for (const service of view.servicesWithPodsOf(namespace, changed))
      yield* view.channelsOf(namespace, service);
  }
}

function createReconcileQueue(
  config: OperatorConfiguration,
  { clock, random, logger, lifecycle }: OperatorOptions,
  parts: {
    readonly reconciler: Reconciler;
    readonly metrics: OperatorMetrics;
    readonly failures: ReconcileFailures;
    /** Called when an object has failed some times in a row; must not throw. */
    readonly onFailing: (key: string, error: unknown) => Promise<void>;
  },
): WorkQueue {
  const { reconciler, metrics, failures } = parts;
  const intervalMs = config.reconcile.intervalSeconds * 1000;
  const work = async (key: string): Promise<void> => {
    const begun = clock.monotonic();
    try {
      const { outcome, againMs } = await reconciler.reconcile(key);
      failures.ended(key);
      metrics.reconciled(outcome, (clock.monotonic() - begun) / 1000);
      if (againMs !== null && againMs < intervalMs) queue.addAfter(key, againMs);
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
      if (failures.failed(key, error) === FAILURES_TOLD) await parts.onFailing(key, error);
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

function readinessProblems(
  view: ClusterView,
  permissions: MissingPermissions,
  signal: AbortSignal,
): readonly string[] {
  const { synced, troubles } = view.state();
  return [
    ...(synced ? [] : ['the caches are not filled yet']),
    ...troubles,
    ...permissions.troubles(),
    ...(signal.aborted ? ['shutting down'] : []),
  ];
}

function livenessProblems(
  { election: { leaseSeconds, renewSeconds } }: OperatorConfiguration,
  election: LeaderElection | null,
): readonly string[] {
  const stuckMs = (leaseSeconds + renewSeconds) * 1000;
  return election === null || election.sinceAttempt() < stuckMs ? [] : ['the election is stuck'];
}

/** 200 or 503 with `{status, problems, warnings}`; no problem means success. A warning is for a person: this process works. */
function probeAnswer(problems: readonly string[], warnings: readonly string[]): SideAnswer {
  const isFine = problems.length === 0;
  return {
    status: isFine ? 200 : 503,
    contentType: JSON_MEDIA_TYPE,
    body: JSON.stringify({ status: isFine ? 'ok' : 'failing', problems, warnings }),
  };
}
