import { tokenSources } from './config/token-sources.ts';
import { loadTrustedKeys } from '../attestation/keys.ts';
import type { Reason } from '../domain/verdict/reasons.ts';
import type { Clock } from '../platform/process/clock.ts';
import { ConfigurationProblems } from '../platform/config/run-configured.ts';
import { readTokenFile } from '../platform/files/token-file.ts';
import { createHashPool } from '../platform/hashing/hash-pool.ts';
import type { SecretMask } from '../platform/logging/secret-mask.ts';
import type { Lifecycle } from '../platform/process/lifecycle.ts';
import type { Logger } from '../platform/logging/logging.ts';
import { createMetricsServer, createRegistry, type Registry } from '../platform/metrics/metrics.ts';
import { createDaemonProxy } from './admin/daemon-proxy.ts';
import { assembleServer, type AssembledServer, type ServerParts } from './assemble-server.ts';
import type { ServerConfiguration } from './config/config.ts';
import { openFilesProblem, readOpenFilesLimit } from '../platform/process/open-files.ts';
import { serverOpenFiles } from './open-files.ts';
import { findWeakSecrets } from './config/weak-secrets.ts';
import { createDaemonClient } from './daemon-client/daemon-client.ts';
import { loadConsole } from './console/console-files.ts';
import { createDamageSender } from './serving/damage-sender.ts';
import { createListenerProbes } from './http/listener-probes.ts';
import { readOpenApiDocument } from './http/openapi-document.ts';
import { listenPublic } from './listen-public.ts';
import { registerConnectionMetrics } from './connection-metrics.ts';
import { createServiceStateLog } from './service/service-state-log.ts';
import { createServerScrub } from './scrub/create-server-scrub.ts';
import type { Serving } from './serving/serving.ts';
import { createTrustedKeyRing } from './serving/trusted-key-ring.ts';
import type { SharedServing } from './workers/shared-serving.ts';

/** Reasons of a process that has not checked everything yet. */
const NOT_YET: ReadonlySet<Reason | null> = new Set<Reason>(['AttestationUnavailable', 'SnapshotLoading']);
/** Milliseconds between two checks of a verdict that is not settled yet. */
const SETTLE_STEP_MS = 50;

interface ServerDependencies {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Masks the tokens in logs; the server adds those of its configuration. */
  readonly secrets: SecretMask;
  readonly lifecycle: Lifecycle;
  /** Version of the program, for health and metrics. */
  readonly version: string;
  /** Of this machine or pod; the history shows it. */
  readonly hostName: string;
  readonly random: () => number;
  /** Present when this process is one of several; default: it is the only one. */
  readonly shared?: SharedServing;
}

interface StartedServer {
  readonly url: string;
  /** `null` when another process shows the metrics. */
  readonly metricsUrl: string | null;
  /** Name of the BLAKE3 implementation in use. */
  readonly hashing: string;
}

/**
 * Starts the distribution server and registers its shutdown with the lifecycle: first readiness turns 503, and every
 * response says `Connection: close`; after the propagation delay the server accepts no more connections, closes those that
 * are idle, and drains the requests in flight.
 *
 * @throws ConfigurationProblems for keys that cannot be loaded; ListenError
 */
export async function startServer(
  config: ServerConfiguration,
  deps: ServerDependencies,
): Promise<StartedServer> {
  const { clock, logger, lifecycle, shared } = deps;
  // Of several workers, the first does the work that one can do for all.
  const isFirst = shared?.scrubs !== false;
  const parts = await openParts(config, deps, isFirst);
  const { registry, pool } = parts;
  const server = assembleServer(config, parts);
  const { room, bytePath, history } = server;
  const { serving, refresher } = room;
  const scrub = isFirst
    ? createServerScrub(config, parts, { serving, inFlight: bytePath.parts.budget })
    : null;
  if (isFirst) startReports(parts, server, lifecycle);
  lifecycle.onShutdown('history', async () => await history.loop.stop());
  history.loop.start();
  shared?.join({
    serving,
    addMinute: (minute) => history.add(minute),
    wake: () => refresher.wake(),
    registry,
  });
  let publicUrl: string | null = null;
  const metricsUrl =
    shared === undefined
      ? await startMetrics(config, { registry, logger, lifecycle }, () => publicUrl)
      : null;
  const { settleMs = 0, firstEnvelope = null } = shared ?? {};
  if (settleMs > 0) {
    refresher.start(firstEnvelope);
    await settle(serving, deps, settleMs);
  }
  const listening = await listenPublic(config, server, shared?.processes);
  publicUrl = listening.url;
  registerConnectionMetrics(registry, listening.connections);
  // The part registered last ends first.
  lifecycle.onShutdown('verification', async () => {
    bytePath.close();
    await pool.close();
  });
  lifecycle.onShutdown('refresh', async () => {
    await room.stop();
    parts.proxy.close();
    await parts.client.close();
  });
  lifecycle.onShutdown('scrub', async () => scrub?.stop());
  lifecycle.onShutdown('drain', async (signal) => {
    const drained = AbortSignal.timeout(config.shutdown.drainSeconds * 1000);
    await listening.close(AbortSignal.any([signal, drained]));
  });
  lifecycle.onShutdown('propagation', async () => {
    // Clients leave their connections one by one, while the balancers learn that this server must get no new ones.
    listening.retire();
    await clock.sleep(config.shutdown.propagationDelaySeconds * 1000);
  });
  if (settleMs === 0) refresher.start(firstEnvelope);
  scrub?.start();
  return { url: listening.url, metricsUrl, hashing: pool.implementation };
}

/** Opens what the server is made of, and warns of settings that do not stop the start. */
async function openParts(
  config: ServerConfiguration,
  { clock, logger, secrets, lifecycle, version, hostName, random, shared }: ServerDependencies,
  isFirst: boolean,
): Promise<ServerParts> {
  const load = async () => await loadTrustedKeys(config.attestation.publicKeyFiles);
  const keys = await load();
  if (!keys.ok)
    throw new ConfigurationProblems(keys.error.map((text) => `attestation.publicKeyFiles: ${text}`));
  // The first request may have a token in its text, before any was checked. An unreadable file is reported by each check.
  for (const { file } of tokenSources(config)) {
    await readTokenFile(file).then(secrets.learn, () => undefined);
  }
  const fewOpenFiles = openFilesProblem(readOpenFilesLimit(), serverOpenFiles(config))?.message ?? null;
  if (isFirst) {
    for (const finding of await findWeakSecrets(config)) logger.warn(finding);
    if (fewOpenFiles !== null) logger.warn(fewOpenFiles);
  }
  const { url, socketPath, timeoutMs, tokenFile } = config.daemon;
  const readToken = async (): Promise<string | null> => {
    if (tokenFile === undefined) return null;
    const token = await readTokenFile(tokenFile);
    secrets.learn(token);
    return token;
  };
  const daemon = { url, socketPath, timeoutMs, readToken };
  return {
    trustedKeys: createTrustedKeyRing({ first: keys.value, load, logger }),
    client: createDaemonClient(daemon, clock),
    proxy: createDaemonProxy(daemon),
    consoleFiles: await loadConsole(isFirst ? logger : null, { runbooks: config.runbooks.url }),
    openApi: await readOpenApiDocument(),
    pool: createHashPool({ threads: config.verification.threads }),
    registry: createRegistry({ name: 'slipway-server', version }),
    clock,
    logger,
    secrets,
    random,
    isShuttingDown: () => lifecycle.signal.aborted,
    version,
    hostName,
    shareMinute: (own) => shared?.shareMinute(own),
    fewOpenFiles,
  };
}

/** Starts what one process does for all: each process learns of the damage that the others find. */
function startReports(
  { client, clock, random, logger }: ServerParts,
  { room: { serving }, service }: AssembledServer,
  lifecycle: Lifecycle,
): void {
  const damageSender = createDamageSender({ serving, client, clock, random, logger });
  lifecycle.onShutdown('damage reports', async () => await damageSender.stop());
  damageSender.start();
  const stateLog = createServiceStateLog({ read: service, logger, clock });
  lifecycle.onShutdown('state log', async () => await stateLog.stop());
  stateLog.start();
}

/** @returns the URL of the metrics port */
async function startMetrics(
  config: ServerConfiguration,
  { registry, logger, lifecycle }: { registry: Registry; logger: Logger; lifecycle: Lifecycle },
  publicUrl: () => string | null,
): Promise<string> {
  const paths = createListenerProbes(publicUrl, () => lifecycle.signal.aborted);
  const server = await createMetricsServer({ registry, ...config.metrics, logger, paths });
  lifecycle.onShutdown('metrics', async (signal) => await server.close(signal));
  return server.url;
}

/** Waits until the verdict of this process is settled, at most `settleMs`. */
async function settle(
  serving: Serving,
  { clock, lifecycle }: ServerDependencies,
  settleMs: number,
): Promise<void> {
  const end = clock.monotonic() + settleMs;
  const isSettled = (): boolean => !NOT_YET.has(serving.verdict('official').reason);
  while (!isSettled() && clock.monotonic() < end && !lifecycle.signal.aborted)
    await clock.sleep(SETTLE_STEP_MS);
}
