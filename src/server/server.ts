import { tokenSources } from './config/token-sources.ts';
import { loadTrustedKeys } from '../attestation/keys.ts';
import type { Reason } from '../domain/verdict/reasons.ts';
import type { Clock } from '../platform/process/clock.ts';
import { ConfigurationProblems } from '../platform/config/run-configured.ts';
import type { HashPool } from '../platform/hashing/digests.ts';
import { readTokenFile } from '../platform/files/token-file.ts';
import { createHashPool } from '../platform/hashing/hash-pool.ts';
import type { Listening } from '../platform/http/listen.ts';
import type { SecretMask } from '../platform/logging/secret-mask.ts';
import type { Lifecycle } from '../platform/process/lifecycle.ts';
import type { Logger } from '../platform/logging/logging.ts';
import { createMetricsServer, createRegistry } from '../platform/metrics/metrics.ts';
import type { ReportForwarder } from './admin/reports/report-forwarder.ts';
import { createReportThread } from './admin/reports/report-thread.ts';
import { assembleServer, type AssembledServer } from './assemble-server.ts';
import type { ServerConfiguration } from './config/config.ts';
import { findWeakSecrets } from './config/weak-secrets.ts';
import { createDaemonClient, type DaemonClient } from './daemon-client/daemon-client.ts';
import { loadConsole } from './console/console-files.ts';
import { createDamageSender } from './serving/damage-sender.ts';
import { createListenerProbes } from './http/listener-probes.ts';
import { readOpenApiDocument } from './http/openapi-document.ts';
import { listenPublic } from './listen-public.ts';
import { registerConnectionMetrics } from './connection-metrics.ts';
import { createServiceStateLog } from './service/service-state-log.ts';
import { createServerScrub } from './scrub/create-server-scrub.ts';
import type { Scrubber } from './scrub/scrubber.ts';
import { createTrustedKeyRing } from './serving/trusted-key-ring.ts';
import type { SharedServing } from './workers/shared-serving.ts';

/** Reasons of a process that has not checked everything yet. */
const NOT_YET: ReadonlySet<Reason | null> = new Set<Reason>(['AttestationUnavailable', 'SnapshotLoading']);
/** Milliseconds between two checks of a verdict that is not settled yet. */
const SETTLE_STEP_MS = 50;

export interface ServerDependencies {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Masks the tokens in logs; the server adds those of its configuration. */
  readonly secrets: SecretMask;
  readonly lifecycle: Lifecycle;
  /** Version of the program, for health and metrics. */
  readonly version: string;
  /** Of this machine or pod; the history of the server tells it. */
  readonly hostName: string;
  readonly random: () => number;
  /** Present when this process is one of several; default: it is the only one. */
  readonly shared?: SharedServing;
}

/** Where a started server can be reached. */
export interface StartedServer {
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
  { clock, logger, secrets, lifecycle, version, hostName, random, shared }: ServerDependencies,
): Promise<StartedServer> {
  const loadKeys = async (): ReturnType<typeof loadTrustedKeys> =>
    await loadTrustedKeys(config.attestation.publicKeyFiles);
  // Of several workers, the first does the work that one can do for all.
  const isFirst = shared?.scrubs !== false;
  const keys = await loadKeys();
  if (!keys.ok)
    throw new ConfigurationProblems(keys.error.map((text) => `attestation.publicKeyFiles: ${text}`));
  const registry = createRegistry({ name: 'slipway-server', version });
  const pool = createHashPool({ threads: config.verification.threads });
  const { client, forwarder } = connectDaemon(config.daemon, { secrets, clock });
  // Each process masks its tokens, and one warns of them.
  await learnTokens(config, secrets);
  if (isFirst) for (const finding of await findWeakSecrets(config)) logger.warn(finding);
  const assembled = assembleServer(config, {
    trustedKeys: createTrustedKeyRing({ first: keys.value, load: loadKeys, logger }),
    client,
    forwarder,
    consoleFiles: await loadConsole(isFirst ? logger : null, { runbooks: config.runbooks.url }),
    openApi: await readOpenApiDocument(),
    pool,
    registry,
    clock,
    logger,
    secrets,
    random,
    isShuttingDown: () => lifecycle.signal.aborted,
    version,
    hostName,
    shareMinute: (own) => shared?.shareMinute(own),
  });
  const { room, cdn, history } = assembled;
  const { serving, refresher } = room;
  const inFlight = cdn.parts.budget;
  const scrub = !isFirst
    ? null
    : createServerScrub(config, { serving, pool, registry, inFlight, clock, random, logger });
  // One process is enough: each process learns of the damage that the others find.
  if (isFirst) {
    const damageSender = createDamageSender({ serving, client, clock, random, logger });
    lifecycle.onShutdown('damage reports', async () => await damageSender.stop());
    damageSender.start();
    const stateLog = createServiceStateLog({ read: assembled.service, logger, clock });
    lifecycle.onShutdown('state log', async () => await stateLog.stop());
    stateLog.start();
  }
  lifecycle.onShutdown('history', async () => await history.loop.stop());
  history.loop.start();
  shared?.join({
    serving,
    history,
    wake: () => {
      refresher.wake();
    },
    registry,
  });
  let publicUrl: string | null = null;
  const probes = createListenerProbes({
    url: () => publicUrl,
    isShuttingDown: () => lifecycle.signal.aborted,
  });
  const metricsServer =
    shared === undefined
      ? await createMetricsServer({ registry, ...config.metrics, logger, paths: probes })
      : null;
  lifecycle.onShutdown('metrics', async (signal) => metricsServer?.close(signal));
  const { settleMs = 0, firstEnvelope = null } = shared ?? {};
  if (settleMs > 0) {
    refresher.start(firstEnvelope);
    await settle(() => !NOT_YET.has(serving.verdict('official').reason), { clock, lifecycle, settleMs });
  }
  const listening = await listenPublic(config, assembled, shared?.processes);
  publicUrl = listening.url;
  registerConnectionMetrics(registry, listening.connections);
  endInOrder(config, { lifecycle, clock }, { pool, client, forwarder, room, cdn, scrub, listening });
  if (settleMs === 0) refresher.start(firstEnvelope);
  scrub?.start();
  return { url: listening.url, metricsUrl: metricsServer?.url ?? null, hashing: pool.implementation };
}

/** Makes the two ways to call the daemon; both read its token for each call. */
function connectDaemon(
  { url, socketPath, timeoutMs, tokenFile }: ServerConfiguration['daemon'],
  { secrets, clock }: Pick<ServerDependencies, 'clock'> & { readonly secrets: Pick<SecretMask, 'learn'> },
): { readonly client: DaemonClient; readonly forwarder: ReportForwarder } {
  const readToken = async (): Promise<string | null> => {
    if (tokenFile === undefined) return null;
    const token = await readTokenFile(tokenFile);
    secrets.learn(token);
    return token;
  };
  return {
    client: createDaemonClient({ url, socketPath, timeoutMs, readToken, clock }),
    forwarder: createReportThread({ url, socketPath, timeoutMs, tokenFile }),
  };
}

/** Learns the admin tokens: the first request may have one in its text, before any token was checked. */
async function learnTokens(
  configuration: Pick<ServerConfiguration, 'admin' | 'auth'>,
  secrets: Pick<SecretMask, 'learn'>,
): Promise<void> {
  // A file that cannot be read is reported by the check of each request.
  for (const { file } of tokenSources(configuration)) {
    await readTokenFile(file).then(secrets.learn, () => undefined);
  }
}

/** Registers the shutdown of every running part; the part registered last ends first. */
function endInOrder(
  { shutdown }: ServerConfiguration,
  { lifecycle, clock }: Pick<ServerDependencies, 'lifecycle' | 'clock'>,
  parts: Pick<AssembledServer, 'room' | 'cdn'> & {
    readonly pool: HashPool;
    readonly client: DaemonClient;
    readonly forwarder: ReportForwarder;
    readonly scrub: Scrubber | null;
    readonly listening: Listening;
  },
): void {
  lifecycle.onShutdown('verification', async () => {
    parts.cdn.close();
    await parts.pool.close();
  });
  lifecycle.onShutdown('refresh', async () => {
    await parts.room.stop();
    await parts.forwarder.close();
    await parts.client.close();
  });
  lifecycle.onShutdown('scrub', async () => parts.scrub?.stop());
  lifecycle.onShutdown('drain', async (signal) => {
    const drained = AbortSignal.timeout(shutdown.drainSeconds * 1000);
    await parts.listening.close(AbortSignal.any([signal, drained]));
  });
  lifecycle.onShutdown('propagation', async () => {
    // Clients leave their connections one by one, while the balancers learn that this server must get no new ones.
    parts.listening.retire();
    await clock.sleep(shutdown.propagationDelaySeconds * 1000);
  });
}

/** Waits until the verdict of this process is settled, at most `settleMs`. */
async function settle(
  isSettled: () => boolean,
  {
    clock,
    lifecycle,
    settleMs,
  }: Pick<ServerDependencies, 'clock' | 'lifecycle'> & { readonly settleMs: number },
): Promise<void> {
  const end = clock.monotonic() + settleMs;
  while (!isSettled() && clock.monotonic() < end && !lifecycle.signal.aborted)
    await clock.sleep(SETTLE_STEP_MS);
}
