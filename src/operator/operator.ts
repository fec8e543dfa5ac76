import { createMetricsServer, createRegistry } from '../platform/metrics/metrics.ts';
import { assembleOperator, type OperatorOptions, type OperatorParts } from './assemble-operator.ts';
import type { OperatorConfiguration } from './config.ts';
import { createOperatorMetrics } from './metrics.ts';
import { createProbeServer, type Probes } from './probe-server.ts';

/** How often expired records are dropped. */
const SWEEP_MS = 60_000;
/** How often it is checked whether the caches are filled. */
const SYNC_POLL_MS = 50;

/**
 * Starts the operator: probes and metrics first, then the caches and the election. The queue starts when this process
 * leads and the caches are filled.
 *
 * @throws ListenError
 */
export async function startOperator(
  config: OperatorConfiguration,
  options: OperatorOptions,
): Promise<{ readonly url: string; readonly metricsUrl: string }> {
  const { connection, clock, logger, lifecycle, identity } = options;
  const registry = createRegistry({ name: 'slipway-operator', version: options.version });
  const metrics = createOperatorMetrics(registry);
  let isElected = false;
  let isSynced = false;
  const startQueue = (): void => {
    if (isElected && isSynced) parts.queue.start();
  };
  const parts = assembleOperator(config, options, metrics, () => {
    isElected = true;
    startQueue();
  });
  const { view, election, queue } = parts;

  const probes = await createProbeServer(config.probes, probesOf(config, options, parts), logger);
  lifecycle.onShutdown('probes', async (signal) => probes.close(signal));
  const metricsServer = await createMetricsServer({ registry, ...config.metrics, logger });
  lifecycle.onShutdown('metrics', async (signal) => metricsServer.close(signal));
  metrics.observe({
    channels: () => view.channels(),
    queued: () => queue.ready,
    isLeading: () => parts.leadership.isHeld(),
  });
  lifecycle.onShutdown('connections', async () => {
    parts.servers.close();
    await connection.close();
  });
  lifecycle.onShutdown('lease', async () => election?.stop());
  lifecycle.onShutdown('caches', async () => view.stop());
  lifecycle.onShutdown('queue', async () => queue.stop());

  view.start();
  election?.start();
  isElected ||= election === null;
  const housekeeping = async (): Promise<void> => {
    while (!view.state().synced) await clock.sleep(SYNC_POLL_MS, lifecycle.signal);
    isSynced = true;
    startQueue();
    for (;;) {
      await clock.sleep(SWEEP_MS, lifecycle.signal);
      parts.evidence.sweep();
      parts.tokens.sweep();
      parts.cleaner.sweep();
    }
  };
  // It ends only with the signal of the lifecycle.
  housekeeping().catch(() => undefined);
  logger.info(
    { url: probes.url, metrics_url: metricsServer.url, server: connection.server, identity },
    'operator listening',
  );
  return { url: probes.url, metricsUrl: metricsServer.url };
}

function probesOf(
  { election: { leaseSeconds, renewSeconds } }: OperatorConfiguration,
  { lifecycle }: OperatorOptions,
  { election, view, permissions }: OperatorParts,
): Probes {
  const stuckMs = (leaseSeconds + renewSeconds) * 1000;
  return {
    live: () => (election === null || election.sinceAttempt() < stuckMs ? [] : ['the election is stuck']),
    ready: () => {
      const { synced, troubles } = view.state();
      return [
        ...(synced ? [] : ['the caches are not filled yet']),
        ...troubles,
        ...permissions.troubles(),
        ...(lifecycle.signal.aborted ? ['shutting down'] : []),
      ];
    },
  };
}
