import { createServer as createHttpServer } from 'node:http';

import { loadTrustedKeys } from '../attestation/keys.ts';
import { parseJsonExact } from '../contract/json-exact.ts';
import type { Clock } from '../platform/clock.ts';
import { ConfigurationProblems } from '../platform/config/run-configured.ts';
import { readBoundedFile } from '../platform/files.ts';
import { createHashPool } from '../platform/hashing/hash-pool.ts';
import { listen } from '../platform/http/listen.ts';
import type { Lifecycle } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/logging.ts';
import { createMetricsServer, createRegistry } from '../platform/metrics.ts';
import { createReportForwarder } from './admin/report-forwarder.ts';
import { assembleServer } from './assemble-server.ts';
import type { ServerConfiguration } from './config.ts';
import { createDaemonClient } from './daemon-client/daemon-client.ts';

const TOKEN_FILE_MAX_BYTES = 4_096;

/** What {@link startServer} needs beside its configuration. */
export interface ServerDependencies {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lifecycle: Lifecycle;
  /** Of the program, for health and metrics. */
  readonly version: string;
  readonly random: () => number;
}

/** Where a started server can be reached. */
export interface StartedServer {
  readonly url: string;
  readonly metricsUrl: string;
}

/**
 * Starts the distribution server and hands its end to the lifecycle: readiness turns 503 first, then, after the
 * propagation delay, connections are no longer accepted and requests in flight are drained.
 *
 * @throws ConfigurationProblems for keys that cannot be loaded; ListenError
 */
export async function startServer(
  config: ServerConfiguration,
  { clock, logger, lifecycle, version, random }: ServerDependencies,
): Promise<StartedServer> {
  const trustedKeys = await loadTrustedKeys(config.attestation.publicKeyFiles);
  if (!trustedKeys.ok)
    throw new ConfigurationProblems(trustedKeys.error.map((text) => `attestation.publicKeyFiles: ${text}`));
  const registry = createRegistry({ name: 'slipway-server', version });
  const pool = createHashPool({ threads: config.verification.threads });
  const { tokenFile } = config.daemon;
  const daemon = {
    url: config.daemon.url,
    socketPath: config.daemon.socketPath,
    timeoutMs: config.daemon.timeoutMs,
    readToken: async (): Promise<string | null> =>
      tokenFile === undefined
        ? null
        : (await readBoundedFile(tokenFile, TOKEN_FILE_MAX_BYTES)).toString('utf8').trim(),
  };
  const client = createDaemonClient({ ...daemon, parseJson: parseJsonExact });
  const forwarder = createReportForwarder(daemon);
  const { listener, room, cdn, installFastPath } = assembleServer(config, {
    trustedKeys: trustedKeys.value,
    client,
    forwarder,
    pool,
    registry,
    clock,
    logger,
    random,
    isShuttingDown: () => lifecycle.signal.aborted,
    version,
  });
  const http = createHttpServer(
    {
      headersTimeout: config.limits.headersTimeoutMs,
      requestTimeout: Math.max(config.limits.requestTimeoutMs, config.limits.headersTimeoutMs),
      keepAliveTimeout: config.limits.keepAliveTimeoutMs,
      maxHeaderSize: config.limits.maxHeaderBytes,
      connectionsCheckingInterval: 1_000,
    },
    listener,
  );
  http.maxConnections = config.limits.maxConnections;
  const fastPath = installFastPath(http);
  const metricsServer = await createMetricsServer({ registry, ...config.metrics, logger });
  lifecycle.onShutdown('metrics', async (signal) => metricsServer.close(signal));
  const listening = await listen(http, config.listen);
  lifecycle.onShutdown('verification', async () => {
    cdn.close();
    await pool.close();
  });
  lifecycle.onShutdown('refresh', async () => {
    await room.stop();
    forwarder.close();
    await client.close();
  });
  lifecycle.onShutdown('drain', async (signal) => {
    const drained = AbortSignal.timeout(config.shutdown.drainSeconds * 1000);
    const ended = AbortSignal.any([signal, drained]);
    ended.addEventListener('abort', () => fastPath?.cut(), { once: true });
    const closed = listening.close(ended);
    fastPath?.drain();
    await closed;
  });
  lifecycle.onShutdown('propagation', async () => {
    await clock.sleep(config.shutdown.propagationDelaySeconds * 1000);
  });
  room.refresher.start();
  logger.info(
    { url: listening.url, metrics_url: metricsServer.url, hashing: pool.implementation },
    'server listening',
  );
  return { url: listening.url, metricsUrl: metricsServer.url };
}
