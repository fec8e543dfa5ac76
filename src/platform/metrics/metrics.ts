import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Listening } from '../http/listen.ts';
import { createSideServer, type SideServerOptions } from '../http/side-server.ts';
import type { Logger } from '../logging/logging.ts';

export type { Registry };

/** The longest interval of a timer: 24 days. */
const NEVER_MS = 2 ** 31 - 1;

/**
 * Creates a separate registry, never the global one, with the metrics of the process: CPU, memory, file descriptors,
 * event loop lag, garbage collection, and `slipway_build_info`.
 */
export function createRegistry(build: { readonly name: string; readonly version: string }): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopUtilizationTimeout: NEVER_MS });
  // The lag of the event loop is known, and quantiles of worker processes cannot be added up.
  for (const kind of ['summary', 'histogram'])
    registry.removeSingleMetric(`nodejs_eventloop_utilization_${kind}`);
  const info = new Gauge({
    name: 'slipway_build_info',
    help: 'Always 1; the labels say which program and version runs.',
    labelNames: ['program', 'version'],
    aggregator: 'first',
    registers: [registry],
  });
  info.set({ program: build.name, version: build.version }, 1);
  return registry;
}

/**
 * Serves `/metrics` on a separate port, so that clients can never reach it.
 *
 * @throws ListenError
 *
 * Source: Prometheus text exposition format 0.0.4.
 */
export async function createMetricsServer(options: {
  readonly registry: { readonly contentType: string; metrics(): Promise<string> };
  readonly host: string;
  readonly port: number;
  readonly logger: Logger;
  readonly paths?: SideServerOptions['paths'];
}): Promise<Listening> {
  const { registry, host, port, logger, paths = {} } = options;
  return await createSideServer({
    host,
    port,
    paths: {
      ...paths,
      '/metrics': async () => ({
        status: 200,
        contentType: registry.contentType,
        body: await registry.metrics(),
      }),
    },
    subject: 'This port answers',
    onError: (error) => logger.error({ err: error }, 'an answer of the metrics port could not be rendered'),
  });
}
