import cluster from 'node:cluster';
import { Registry } from 'prom-client';
import type { Clock } from '../../platform/process/clock.ts';
import type { Lifecycle } from '../../platform/process/lifecycle.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { createMetricsServer, createRegistry } from '../../platform/metrics/metrics.ts';
import type { ServerConfiguration } from '../config/config.ts';
import { createListenerProbes } from '../http/listener-probes.ts';
import { createSupervisor } from './supervisor.ts';
import { registerWorkerMetrics } from './worker-metrics.ts';
import type { WorkerProcess } from './worker-process.ts';
import { isWorkerMessage, type PrimaryMessage } from './worker-messages.ts';

/**
 * Starts the worker processes behind one port, and `/metrics` of all of them together. This process accepts the
 * connections and hands each to the next worker in turn.
 *
 * @throws ListenError for the metrics port; WorkersFailedError
 */
export async function startWorkers(
  config: ServerConfiguration,
  deps: {
    readonly program: string;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly lifecycle: Lifecycle;
    readonly version: string;
    readonly random: () => number;
  },
): Promise<void> {
  const { clock, logger, lifecycle, version, random } = deps;
  cluster.setupPrimary({ exec: deps.program, args: [] });
  const supervisor = createSupervisor({ config, fork: forkWorker, clock, random, logger });
  const registry = createRegistry({ name: 'slipway-server', version });
  registerWorkerMetrics(registry, supervisor);
  const metrics = await createMetricsServer({
    registry: {
      contentType: registry.contentType,
      metrics: async () => {
        const all = [...(await supervisor.collectMetrics()), await registry.getMetricsAsJSON()];
        return await Registry.aggregate(all).metrics();
      },
    },
    ...config.metrics,
    logger,
    paths: createListenerProbes(
      () => supervisor.url,
      () => lifecycle.signal.aborted,
    ),
  });
  lifecycle.onShutdown('metrics', async (signal) => metrics.close(signal));
  lifecycle.onShutdown('workers', async (signal) => {
    await supervisor.stop('the server is stopping', signal);
  });
  const { url, hashing } = await supervisor.start();
  logger.info({ url, metrics_url: metrics.url, hashing, workers: config.workers }, 'server listening');
}

function forkWorker(): WorkerProcess {
  const worker = cluster.fork();
  // The message cannot be sent because the process is ending; its exit reports that.
  worker.on('error', () => undefined);
  return {
    pid: worker.process.pid,
    send: (message: PrimaryMessage) => {
      if (worker.isConnected()) worker.send(message);
    },
    kill: () => {
      worker.process.kill('SIGKILL');
    },
    onMessage: (listener) => {
      worker.on('message', (message: unknown) => {
        if (isWorkerMessage(message)) listener(message);
      });
    },
    onExit: (listener) => {
      worker.once('exit', (code: number | null, signal: string | null) => {
        listener({ code, signal });
      });
      worker.once('error', () => {
        // A process that could not be started emits no exit.
        if (worker.process.pid === undefined) listener({ code: null, signal: null });
      });
    },
  };
}
