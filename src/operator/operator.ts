import type { Clock } from '../platform/process/clock.ts';
import type { Lifecycle } from '../platform/process/lifecycle.ts';
import type { Logger } from '../platform/logging/logging.ts';
import { createMetricsServer, createRegistry } from '../platform/metrics/metrics.ts';
import { createClusterView } from './channels/cluster-view.ts';
import type { OperatorConfiguration } from './config.ts';
import { alwaysLeading, createLeaderElection, LeadershipLost } from './election/leader-election.ts';
import { createChannelWriter } from './kubernetes/channel-writer.ts';
import type { ClusterAccess } from './kubernetes/cluster-access.ts';
import { createKubernetesClient } from './kubernetes/kubernetes-client.ts';
import { retryAfterOf } from './kubernetes/kubernetes-error.ts';
import type { ReleaseChannel } from './kubernetes/objects.ts';
import { createPermissionBook } from './kubernetes/permission-book.ts';
import { createOperatorMetrics } from './metrics.ts';
import { createAdminTokens } from './pods/admin-tokens.ts';
import { createEvidenceBook } from './pods/evidence-book.ts';
import { createServerClient } from './pods/server-client.ts';
import { serverPods } from './pods/server-pods.ts';
import { createProbeServer } from './probe-server.ts';
import { createDaemonStep } from './reconcile/daemon-step.ts';
import { createFinalizer } from './reconcile/finalizer.ts';
import { createReconciler } from './reconcile/reconciler.ts';
import { createWorkQueue } from './reconcile/work-queue.ts';

/** What {@link startOperator} needs. */
export interface OperatorDependencies {
  readonly access: ClusterAccess;
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

/** First pause after a failure, milliseconds; it grows to the interval. */
const FIRST_BACKOFF_MS = 500;
/** How often what nobody asks for any more is forgotten. */
const SWEEP_MS = 60_000;

/**
 * Puts the operator together and starts it: probes and metrics first, then the caches, then the election; a leader
 * works on the queue.
 *
 * @throws ListenError
 */
export async function startOperator(
  config: OperatorConfiguration,
  deps: OperatorDependencies,
): Promise<{ readonly url: string; readonly metricsUrl: string }> {
  const { access, clock, random, logger, lifecycle, identity } = deps;
  const userAgent = `slipway-operator/${deps.version}`;
  const registry = createRegistry({ name: 'slipway-operator', version: deps.version });
  const metrics = createOperatorMetrics(registry);
  const kubernetes = createKubernetesClient(access, clock, userAgent);
  const servers = createServerClient({ timeoutMs: config.pods.timeoutMs, userAgent });
  const permissions = createPermissionBook(logger);
  const intervalMs = config.reconcile.intervalSeconds * 1000;

  const election = config.election.enabled
    ? createLeaderElection({
        client: kubernetes,
        namespace: config.election.namespace ?? access.namespace,
        name: config.election.name,
        identity,
        timing: config.election,
        clock,
        logger,
        onElected: () => {
          lead();
        },
        onLost: () => {
          void lifecycle.shutdown('the leadership was lost', 1);
        },
      })
    : null;
  const leadership = election ?? alwaysLeading;

  const view = createClusterView({
    client: kubernetes,
    namespaces: config.watch.namespaces,
    silentMs: config.watch.silentSeconds * 1000,
    clock,
    random,
    logger,
    onTurn: (kind, turn) => {
      metrics.turned(kind, turn);
    },
    onChannel: (before, after) => {
      const key = (after ?? before)?.key;
      if (key !== undefined && !reconciler.isOwnChange(before, after)) queue.add(key);
    },
    onService: (namespace, name) => {
      for (const channel of view.channels()) {
        if (channel.namespace === namespace && channel.spec.serverRef.name === name) queue.add(channel.key);
      }
    },
  });

  const pods = ({ namespace, spec }: ReleaseChannel): ReturnType<typeof serverPods> => {
    const { name, port } = spec.serverRef;
    return serverPods(
      { namespace, name, port },
      view.service(namespace, name),
      view.slices(namespace, name),
      config.pods.hostOverride ?? null,
    );
  };
  const evidence = createEvidenceBook({ client: servers, clock, staleMs: config.pods.staleSeconds * 1000 });
  const tokens = createAdminTokens({ client: kubernetes, permissions, clock });
  const { createId } = deps;
  const writer = createChannelWriter({
    client: kubernetes,
    leadership,
    permissions,
    clock,
    logger,
    identity,
    createId,
  });
  const reconciler = createReconciler({
    channel: (key) => view.channel(key),
    pods,
    evidence,
    tokens,
    client: servers,
    daemonStep: createDaemonStep({ client: servers, leadership }),
    finalizer: createFinalizer({
      client: servers,
      leadership,
      writer,
      tokens,
      pods,
      clock,
      timeoutMs: config.reconcile.finalizeSeconds * 1000,
    }),
    writer,
    clock,
    logger,
  });

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
      logger.warn({ err: error, channel: key }, 'a reconciliation failed; it is tried again');
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

  let leading = false;
  let synced = false;
  /** Work begins when this process leads and has seen everything once. */
  const lead = (): void => {
    leading = true;
    if (synced) queue.start();
  };

  const probes = await createProbeServer(
    config.probes,
    {
      live: () =>
        election === null || isElectionAlive(election, config) ? [] : ['the election stands still'],
      ready: () => {
        const state = view.state();
        return [
          ...(state.synced ? [] : ['the caches are not filled yet']),
          ...state.troubles,
          ...permissions.troubles(),
          ...(lifecycle.signal.aborted ? ['shutting down'] : []),
        ];
      },
    },
    logger,
  );
  lifecycle.onShutdown('probes', async (signal) => probes.close(signal));
  const metricsServer = await createMetricsServer({ registry, ...config.metrics, logger });
  lifecycle.onShutdown('metrics', async (signal) => metricsServer.close(signal));
  metrics.observe({
    channels: () => view.channels(),
    queued: () => queue.ready,
    isLeading: () => leadership.isHeld(),
  });
  lifecycle.onShutdown('connections', () => {
    kubernetes.close();
    servers.close();
  });
  lifecycle.onShutdown('lease', async () => election?.stop());
  lifecycle.onShutdown('caches', async () => view.stop());
  lifecycle.onShutdown('queue', async () => queue.stop());

  view.start();
  election?.start();
  const housekeeping = async (): Promise<void> => {
    while (!view.state().synced) await clock.sleep(POLL_MS, lifecycle.signal);
    synced = true;
    if (election === null || leading) lead();
    for (;;) {
      await clock.sleep(SWEEP_MS, lifecycle.signal);
      evidence.sweep();
      tokens.sweep();
    }
  };
  // It ends with the lifecycle's signal, and with nothing else.
  housekeeping().catch(() => undefined);
  logger.info(
    { url: probes.url, metrics_url: metricsServer.url, server: access.server, identity },
    'operator listening',
  );
  return { url: probes.url, metricsUrl: metricsServer.url };
}

const POLL_MS = 50;

function isElectionAlive(
  election: { sinceAttempt(): number },
  { election: { leaseSeconds, renewSeconds } }: OperatorConfiguration,
): boolean {
  return election.sinceAttempt() < (leaseSeconds + renewSeconds) * 1000;
}
