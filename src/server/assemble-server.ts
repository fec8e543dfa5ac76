import { randomBytes } from 'node:crypto';
import type { RequestListener, Server } from 'node:http';

import type { Router } from 'express';

import { PUBLIC_OPERATIONS } from '../contract/operations/operations-public.ts';
import { publicRunbooks } from '../contract/problems/problem-links.ts';
import type { HashPool } from '../platform/hashing/digests.ts';
import type { Connections } from '../platform/http/connections.ts';
import type { Logger } from '../platform/logging/logging.ts';
import type { SecretMask } from '../platform/logging/secret-mask.ts';
import type { Registry } from '../platform/metrics/metrics.ts';
import type { Clock } from '../platform/process/clock.ts';
import { createSpanIds, createUlidFactory } from '../platform/process/ids.ts';
import { createObjectSource } from '../snapshot/objects/object-source.ts';
import { createAdmission } from './admin/admin-gate.ts';
import { createAdminMetrics } from './admin/admin-metrics.ts';
import { isAdminPath } from './admin/admin-paths.ts';
import { createAdminRouter } from './admin/admin-router.ts';
import type { DaemonProxy } from './admin/daemon-proxy.ts';
import { createServerChecks } from './admin/server-checks.ts';
import { CDN_ROUTE, createServerApp } from './app.ts';
import { createBytePathHandler, type BytePathHandler } from './bytes/byte-path-handler.ts';
import { DEFAULT_BYTE_PATH_LIMITS } from './bytes/byte-path-limits.ts';
import type { ServerConfiguration } from './config/config.ts';
import { tokenSources } from './config/token-sources.ts';
import { findWeakSecrets } from './config/weak-secrets.ts';
import type { ConsoleFile } from './console/console-files.ts';
import { CONSOLE_PATH, createConsoleRouter } from './console/console-router.ts';
import type { DaemonClient } from './daemon-client/daemon-client.ts';
import { createDaemonPresence, type DaemonPresence } from './daemon-client/daemon-presence.ts';
import { installFastPath, type FastPath } from './fast-path/fast-path.ts';
import { readScrub } from './history/scrub-reader.ts';
import { createServerHistory, type MinuteOfProcess, type ServerHistory } from './history/server-history.ts';
import { createTrafficReader } from './history/traffic-reader.ts';
import { createCors } from './http/cors.ts';
import { createRequestObserver, createRequestRecorder } from './http/observe-request.ts';
import { createLimitCounter } from './http/token-metrics.ts';
import { createTokenVerifier, type TokenVerifier } from './http/token-verifier.ts';
import { createServerMetrics } from './metrics.ts';
import { createPublicRouter } from './public/public-router.ts';
import { PublicUrls } from './public/release/public-urls.ts';
import { registerServiceState } from './service/service-state-metrics.ts';
import { createServiceStateReader, type ReadServiceState } from './service/service-state-reader.ts';
import { createServingRoom, type ServingMetrics, type ServingRoom } from './serving/serving-room.ts';
import type { TrustedKeyRing } from './serving/trusted-key-ring.ts';

const { getHealth, getReadiness } = PUBLIC_OPERATIONS;
/** The routes that the platform asks for, not clients. */
const PROBE_ROUTES: ReadonlySet<string> = new Set([getHealth.path, getReadiness.path]);

/** What the surfaces of a server are made of. */
export interface ServerParts {
  readonly trustedKeys: TrustedKeyRing;
  readonly client: DaemonClient;
  readonly proxy: DaemonProxy;
  readonly consoleFiles: ReadonlyMap<string, ConsoleFile>;
  readonly openApi: Uint8Array;
  readonly pool: HashPool;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Masks the tokens in logs and in requests to the daemon. */
  readonly secrets: SecretMask;
  readonly random: () => number;
  readonly isShuttingDown: () => boolean;
  readonly version: string;
  readonly hostName: string;
  readonly shareMinute: (own: MinuteOfProcess) => void;
  /** Says that this process may have too few files open for its settings; `null` when it may have enough. */
  readonly fewOpenFiles: string | null;
}

interface ServerState {
  readonly room: ServingRoom;
  readonly presence: DaemonPresence;
  readonly service: ReadServiceState;
  /** Not started. */
  readonly history: ServerHistory;
}

/** A server before it runs. */
export interface AssembledServer extends ServerState {
  readonly listener: RequestListener;
  readonly bytePath: BytePathHandler;
  /** Puts the fast path in front of the server that runs the listener; returns `null` if it is switched off. */
  readonly installFastPath: (server: Server, connections: Connections) => FastPath | null;
}

/** Puts a server together; it starts nothing and does not listen. */
export function assembleServer(config: ServerConfiguration, parts: ServerParts): AssembledServer {
  const { registry, clock, logger } = parts;
  const metrics = createServerMetrics(registry);
  const state = assembleState(config, parts, metrics);
  const { serving } = state.room;
  metrics.observe(serving, () => clock.now());
  const ids = {
    createRequestId: createUlidFactory({ clock, randomBytes }),
    createSpanId: createSpanIds(randomBytes),
  };
  const cors = createCors(config.cors.origins);
  const tokens = assembleTokens(config, parts);
  const publicTokens = config.auth.public === 'token' ? tokens : null;
  const bytePath = createBytePathHandler({
    serving,
    root: config.snapshot.root,
    cdnHost: config.cdn.host,
    defaultChannel: config.cdn.defaultChannel,
    needsToken: publicTokens !== null,
    runbooks: publicRunbooks(config.runbooks.url),
    logger,
    registry,
    clock,
    ...ids,
    limits: { ...DEFAULT_BYTE_PATH_LIMITS, blockCacheBytes: config.cache.blockBytes },
  });
  const record = createRequestRecorder({
    logger,
    metrics,
    access: config.log.access,
    busyRoutes: new Set([CDN_ROUTE, ...PROBE_ROUTES]),
  });
  const listener = createServerApp({
    bytePath,
    cdnHost: config.cdn.host,
    surfaces: [
      createConsoleRouter(parts.consoleFiles),
      assembleAdmin(config, parts, state, tokens),
      assemblePublic(config, parts, state, publicTokens),
    ],
    tokens: publicTokens,
    cors,
    runbooks: config.runbooks.url,
    ...ids,
    observe: createRequestObserver(record, clock),
    logger,
  });
  return {
    ...state,
    listener,
    bytePath,
    installFastPath: (server, connections) =>
      // If public routes require a token, every request needs the full server.
      config.fastPath.enabled && publicTokens === null
        ? installFastPath(server, {
            serving,
            bytePath: bytePath.parts,
            clock,
            record,
            route: CDN_ROUTE,
            ...ids,
            connections,
            cors,
          })
        : null,
  };
}

function assembleState(
  config: ServerConfiguration,
  { client, trustedKeys, pool, registry, clock, logger, ...parts }: ServerParts,
  metrics: ServingMetrics,
): ServerState {
  const presence = createDaemonPresence(clock, () => servedUntil(room));
  const room: ServingRoom = createServingRoom({
    root: config.snapshot.root,
    trustedKeys,
    fetchAttestation: async (request) =>
      await presence.observe(async () => await client.fetchAttestation(request)),
    waitSeconds: config.daemon.waitSeconds,
    pool,
    metrics,
    onVerdict: () => history.noteState(),
    clock,
    random: parts.random,
    logger,
  });
  const service = createServiceStateReader({
    serving: room.serving,
    daemon: () => presence.state(),
    refresh: () => room.refresher.diagnostics(),
    conditions: () => client.conditions(),
    clockAhead: () => client.clockAhead(),
    isShuttingDown: parts.isShuttingDown,
    clock,
  });
  registerServiceState(registry, service);
  const history: ServerHistory = createServerHistory({
    readState: service,
    readTraffic: createTrafficReader(registry, isOfClients),
    readScrub: async () => await readScrub(registry),
    share: parts.shareMinute,
    clock,
    logger,
  });
  return { room, presence, service, history };
}

/** Until when the official release is served without the daemon, Unix seconds; `null` when it is not served. */
function servedUntil({ serving }: ServingRoom): number | null {
  if (!serving.verdict('official').distributable) return null;
  return serving.attestation()?.statement.expires_at ?? null;
}

/** Whether the requests of a route come from clients: neither probes, nor operators and their console. */
function isOfClients(route: string): boolean {
  return !PROBE_ROUTES.has(route) && route !== CONSOLE_PATH && !isAdminPath(route);
}

function assembleTokens(
  config: ServerConfiguration,
  { registry, secrets, clock, logger }: ServerParts,
): TokenVerifier {
  const sources = tokenSources(config);
  const idsWithLimits = sources.flatMap(({ id, limits }) => (limits === null ? [] : [id]));
  const countLimited = createLimitCounter(registry, idsWithLimits);
  return createTokenVerifier({ sources, secrets, countLimited, clock, logger });
}

function assembleAdmin(
  config: ServerConfiguration,
  { proxy, registry, clock, logger, secrets, version, hostName, fewOpenFiles }: ServerParts,
  { presence, service, history }: ServerState,
  tokens: TokenVerifier,
): Router {
  const metrics = createAdminMetrics(registry);
  return createAdminRouter({
    admit: createAdmission({ tokens, metrics, clock, logger }),
    proxy,
    presence,
    addServerChecks: createServerChecks({
      findWeakSecrets: async () => await findWeakSecrets(config),
      fewOpenFiles,
      service,
      clock,
    }),
    metrics,
    clock,
    logger,
    secrets,
    exposeControl: config.admin.exposeControl,
    publicBaseUrl: config.publicBaseUrl,
    stallTimeoutMs: config.daemon.timeoutMs,
    history,
    version,
    hostName,
  });
}

function assemblePublic(
  config: ServerConfiguration,
  { client, pool, clock, version, isShuttingDown, openApi }: ServerParts,
  { room: { serving, refresher }, presence, service }: ServerState,
  tokens: TokenVerifier | null,
): Router {
  return createPublicRouter(
    {
      config,
      urls: new PublicUrls(config.publicBaseUrl, config.cdn.host),
      serving,
      refresher,
      objects: createObjectSource(config.snapshot.root),
      client,
      presence,
      service,
      pool,
      clock,
      isShuttingDown,
      version,
      openApi,
    },
    tokens,
  );
}
