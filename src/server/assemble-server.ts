import { tokenSources } from './config/token-sources.ts';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

import { PUBLIC_OPERATIONS } from '../contract/operations/operations-public.ts';
import type { Connections } from '../platform/http/connections.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { HashPool } from '../platform/hashing/digests.ts';
import { createSpanIds, createUlidFactory } from '../platform/process/ids.ts';
import type { Logger } from '../platform/logging/logging.ts';
import type { SecretMask } from '../platform/logging/secret-mask.ts';
import type { Registry } from '../platform/metrics/metrics.ts';
import { createAdminMetrics } from './admin/admin-metrics.ts';
import { isAdminPath } from './admin/admin-routes.ts';
import { createAdminSurface, type AdminSurface } from './admin/admin-surface.ts';
import type { ReportForwarder } from './admin/reports/report-forwarder.ts';
import { CDN_ROUTE, createServerApp } from './app.ts';
import { createCdnHandler, type CdnHandler } from './bytes/cdn-handler.ts';
import { DEFAULT_CDN_LIMITS } from './bytes/cdn-limits.ts';
import type { ServerConfiguration } from './config/config.ts';
import type { DaemonClient } from './daemon-client/daemon-client.ts';
import type { ConsoleFile } from './console/console-files.ts';
import { createServerHistory, type MinuteOfProcess, type ServerHistory } from './history/server-history.ts';
import { createScrubReader } from './history/scrub-reader.ts';
import { createTrafficReader } from './history/traffic-reader.ts';
import { createServerChecks } from './admin/reports/server-checks.ts';
import { findWeakSecrets } from './config/weak-secrets.ts';
import { createDaemonPresence, type DaemonPresence } from './daemon-client/daemon-presence.ts';
import { createConsoleRoute, CONSOLE_PATH } from './console/console-route.ts';
import { createDistributionRoutes } from './public/distribution/distribution-routes.ts';
import { createRevalidator } from './public/distribution/revalidator.ts';
import { installFastPath, type FastPath } from './fast-path/fast-path.ts';
import { createHealthRoutes } from './public/health/health-routes.ts';
import { createRequestObserver, createRequestRecorder } from './http/observe-request.ts';
import { createCors } from './http/cors.ts';
import type { PublicRoute } from './http/public-route.ts';
import { createPublicRoutes } from './public/public-routes.ts';
import { createTokenMetrics } from './http/token-metrics.ts';
import { createTokenVerifier, type TokenVerifier } from './http/token-verifier.ts';
import { createGlobFilter } from '../platform/config/glob-filter.ts';
import { createLauncherFileLists } from './public/launcher/launcher-file-list.ts';
import { createLauncherRoutes } from './public/launcher/launcher-routes.ts';
import { createServerMetrics, type ServerMetrics } from './metrics.ts';
import { createPublicUrls } from './public/release/public-urls.ts';
import { createReleaseHistory } from './public/release/release-lookup.ts';
import { createReleaseRoutes } from './public/release/release-routes.ts';
import { createServerInfoRoute } from './public/server-info/server-info-route.ts';
import { createVerifiedDocumentReader } from './serving/verified-document.ts';
import { createServiceStateReader, type ReadServiceState } from './service/service-state-reader.ts';
import { registerServiceState } from './service/service-state-metrics.ts';
import { createServingRoom, type ServingRoom } from './serving/serving-room.ts';
import type { TrustedKeyRing } from './serving/trusted-key-ring.ts';

const { getHealth, getReadiness } = PUBLIC_OPERATIONS;
/** The routes that the platform asks for, not clients. */
const PROBE_ROUTES: ReadonlySet<string> = new Set([getHealth.path, getReadiness.path]);

export interface AssemblyDependencies {
  readonly trustedKeys: TrustedKeyRing;
  readonly client: DaemonClient;
  readonly forwarder: ReportForwarder;
  readonly consoleFiles: ReadonlyMap<string, ConsoleFile>;
  /** The OpenAPI document, YAML. */
  readonly openApi: Uint8Array;
  readonly pool: HashPool;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Masks the tokens in logs and in requests to the daemon. */
  readonly secrets: SecretMask;
  readonly random: () => number;
  readonly isShuttingDown: () => boolean;
  /** Version of the program, for health. */
  readonly version: string;
  /** Of this machine or pod. */
  readonly hostName: string;
  /** Sends a minute of the history to the other processes of this server. */
  readonly shareMinute: (own: MinuteOfProcess) => void;
}

/** The parts of a server before they run. */
export interface AssembledServer {
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void;
  readonly room: ServingRoom;
  /** The state of the service as of now. */
  readonly service: ReadServiceState;
  /** Not started. */
  readonly history: ServerHistory;
  readonly cdn: CdnHandler;
  /** Puts the fast path in front of the server that runs the listener; returns `null` if it is switched off. */
  readonly installFastPath: (server: Server, connections: Connections) => FastPath | null;
}

/** Puts the parts of the distribution server together; it starts nothing and does not listen. */
export function assembleServer(config: ServerConfiguration, deps: AssemblyDependencies): AssembledServer {
  const { pool, registry, clock, logger } = deps;
  const metrics = createServerMetrics(registry);
  const presence = createDaemonPresence({
    clock,
    servedUntil: () => servedUntil(room.serving),
  });
  const room: ServingRoom = createServingRoom({
    root: config.snapshot.root,
    trustedKeys: deps.trustedKeys,
    client: {
      fetchAttestation: async (request) =>
        await presence.observe(async () => await deps.client.fetchAttestation(request)),
    },
    waitSeconds: config.daemon.waitSeconds,
    pool,
    metrics,
    onVerdict: () => {
      history.noteState();
    },
    clock,
    random: deps.random,
    logger,
  });
  metrics.observe(room.serving, () => clock.now());
  const service = assembleServiceState(deps, { room, presence });
  const history: ServerHistory = assembleHistory(deps, service);
  const ids = createIds(clock);
  const cdn = createCdnHandler({
    serving: room.serving,
    pool,
    root: config.snapshot.root,
    cdnHost: config.cdn.host,
    defaultChannel: config.cdn.defaultChannel,
    needsToken: needsToken(config),
    runbooks: config.runbooks.url,
    logger,
    registry,
    clock,
    ...ids,
    limits: { ...DEFAULT_CDN_LIMITS, blockCacheBytes: config.cache.blockBytes },
  });
  const record = createRecorder(config, deps, metrics);
  const tokens = assembleTokens(config, deps);
  const known = { room, presence, service };
  const listener = createServerApp({
    routes: assembleRoutes(config, deps, known),
    cdn,
    cdnHost: config.cdn.host,
    admin: assembleAdmin(config, deps, { ...known, tokens, history }),
    consoleRoute: createConsoleRoute(deps.consoleFiles),
    tokens: needsToken(config) ? tokens : null,
    cors: createCors(config.cors.origins),
    runbooks: config.runbooks.url,
    ...ids,
    observe: createRequestObserver(record, clock),
    logger,
  });
  return {
    listener,
    room,
    service,
    history,
    cdn,
    installFastPath: (server, connections) =>
      // If public routes require a token, every request needs the full server.
      config.fastPath.enabled && !needsToken(config)
        ? installFastPath(server, {
            serving: room.serving,
            cdn: cdn.parts,
            clock,
            record,
            route: CDN_ROUTE,
            ...ids,
            connections,
            cors: createCors(config.cors.origins),
          })
        : null,
  };
}

/** Until when the official release is served without the daemon, Unix seconds; `null` when it is not served. */
function servedUntil(serving: ServingRoom['serving']): number | null {
  if (!serving.verdict('official').distributable) return null;
  return serving.attestation()?.statement.expires_at ?? null;
}

function assembleTokens(
  config: ServerConfiguration,
  { registry, secrets, clock, logger }: AssemblyDependencies,
): TokenVerifier {
  const sources = tokenSources(config);
  const idsWithLimits = sources.flatMap(({ id, limits }) => (limits === null ? [] : [id]));
  const metrics = createTokenMetrics(registry, idsWithLimits);
  return createTokenVerifier({ sources, secrets, metrics, clock, logger });
}

/** Whether public routes need a token. */
function needsToken({ auth }: ServerConfiguration): boolean {
  return auth.public === 'token';
}

/** The sources of the ids of requests and of spans. */
function createIds(clock: Clock): {
  readonly createRequestId: () => string;
  readonly createSpanId: () => string;
} {
  return {
    createRequestId: createUlidFactory({ clock, randomBytes }),
    createSpanId: createSpanIds(randomBytes),
  };
}

function assembleServiceState(
  { client, registry, clock, isShuttingDown }: AssemblyDependencies,
  { room, presence }: { readonly room: ServingRoom; readonly presence: DaemonPresence },
): ReadServiceState {
  const read = createServiceStateReader({
    serving: room.serving,
    daemon: () => presence.state(),
    refresh: () => room.refresher.diagnostics(),
    conditions: () => client.conditions(),
    clockAhead: () => client.clockAhead(),
    isShuttingDown,
    clock,
  });
  registerServiceState(registry, read);
  return read;
}

/** Whether the requests of a route come from clients: neither probes, nor operators and their console. */
function isOfClients(route: string): boolean {
  return !PROBE_ROUTES.has(route) && route !== CONSOLE_PATH && !isAdminPath(route);
}

function assembleHistory(
  { registry, shareMinute, clock, logger }: AssemblyDependencies,
  readState: ReadServiceState,
): ServerHistory {
  return createServerHistory({
    readState,
    readTraffic: createTrafficReader({ registry, isOfClients }),
    readScrub: createScrubReader({ registry }),
    share: shareMinute,
    clock,
    logger,
  });
}

function assembleAdmin(
  config: ServerConfiguration,
  { client, forwarder, registry, clock, logger, secrets, version, hostName }: AssemblyDependencies,
  {
    tokens,
    presence,
    service,
    history,
  }: {
    readonly tokens: TokenVerifier;
    readonly presence: DaemonPresence;
    readonly service: ReadServiceState;
    readonly history: ServerHistory;
  },
): AdminSurface {
  return createAdminSurface({
    tokens,
    client,
    forwarder,
    presence,
    addServerChecks: createServerChecks({
      findWeakSecrets: async () => await findWeakSecrets(config),
      service,
      clock,
    }),
    metrics: createAdminMetrics(registry),
    clock,
    logger,
    secrets,
    exposeControl: config.admin.exposeControl,
    publicBaseUrl: config.publicBaseUrl,
    history,
    version,
    hostName,
  });
}

function assembleRoutes(
  config: ServerConfiguration,
  { client, pool, clock, version, isShuttingDown, openApi }: AssemblyDependencies,
  {
    room: { serving, refresher },
    presence,
    service,
  }: {
    readonly room: ServingRoom;
    readonly presence: DaemonPresence;
    readonly service: ReadServiceState;
  },
): readonly PublicRoute[] {
  const { root } = config.snapshot;
  const urls = createPublicUrls(config.publicBaseUrl, config.cdn.host);
  const history = createReleaseHistory(client);
  const readDocument = createVerifiedDocumentReader({ root, pool });
  return createPublicRoutes({
    health: createHealthRoutes({
      serving,
      refresh: () => refresher.diagnostics(),
      daemon: () => presence.state(),
      service,
      isShuttingDown,
      clock,
      version,
    }),
    release: createReleaseRoutes({ serving, history, urls, version }),
    distribution: createDistributionRoutes({
      serving,
      history,
      revalidator: createRevalidator({ root, pool, concurrency: config.limits.revalidations }),
      readDocument,
      clock,
    }),
    launcher: createLauncherRoutes({
      serving,
      urls,
      fileLists: createLauncherFileLists(createGlobFilter(config.launcher)),
      launcher: config.launcher,
    }),
    serverInfo: createServerInfoRoute({
      serving,
      urls,
      read: readDocument,
      serverInfo: config.serverInfo,
    }),
    openApi,
  });
}

function createRecorder(
  config: ServerConfiguration,
  { logger }: AssemblyDependencies,
  metrics: ServerMetrics,
): ReturnType<typeof createRequestRecorder> {
  return createRequestRecorder({
    logger,
    metrics,
    access: config.log.access,
    busyRoutes: new Set([CDN_ROUTE, ...PROBE_ROUTES]),
  });
}
