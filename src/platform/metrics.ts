import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { randomUUID } from 'node:crypto';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { ServiceError } from '../contract/service-error.ts';
import { listen, type Listening } from './http/listen.ts';
import { renderProblem, sendProblem } from './http/problem.ts';
import type { Logger } from './logging.ts';

export type { Registry };

/** What {@link createMetricsServer} needs. */
export interface MetricsServerOptions {
  readonly registry: Pick<Registry, 'metrics' | 'contentType'>;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly logger: Logger;
}

const METHODS = 'GET, HEAD';
const MAX_CONNECTIONS = 64;
const MAX_HEADER_BYTES = 8 * 1024;
const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * Makes a registry of its own, never the global one, with the metrics of the process: CPU, memory, file descriptors,
 * event loop lag, garbage collection, and `slipway_build_info`.
 *
 * @param build the labels of `slipway_build_info`
 */
export function createRegistry(build: { readonly name: string; readonly version: string }): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
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
 * Serves `/metrics` on a port of its own, so that it is never reachable where clients are.
 *
 * @throws ListenError
 *
 * Source: Prometheus text exposition format 0.0.4.
 */
export async function createMetricsServer(options: MetricsServerOptions): Promise<Listening> {
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
    },
    (request, response) => {
      answer(request, response, options).catch((error: unknown) => {
        const problem = renderProblem(error, randomUUID());
        options.logger.error({ err: error }, 'metrics could not be rendered');
        sendProblem(response, problem);
      });
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  return await listen(server, { host: options.host, port: options.port });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { registry }: MetricsServerOptions,
): Promise<void> {
  const [path] = (request.url ?? '').split('?', 1);
  if (path !== '/metrics') {
    const error = new ServiceError('not_found', 'This port serves /metrics only.');
    sendProblem(response, renderProblem(error, randomUUID()));
    return;
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const error = new ServiceError('method_not_allowed', `/metrics answers ${METHODS}.`);
    sendProblem(response, renderProblem(error, randomUUID(), { allow: METHODS }));
    return;
  }
  const body = Buffer.from(await registry.metrics());
  response.writeHead(200, {
    'content-type': registry.contentType,
    'content-length': body.length,
    'cache-control': 'no-store',
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}
