import { onTestFinished } from 'vitest';
import { systemClock, type Clock } from '../../src/platform/process/clock.ts';
import { createSecretMask } from '../../src/platform/logging/secret-mask.ts';
import { createLogger, type LogLevel } from '../../src/platform/logging/logging.ts';
import { createRegistry, type Registry } from '../../src/platform/metrics/metrics.ts';
import { createDaemonProxy } from '../../src/server/admin/daemon-proxy.ts';
import { assembleServer, type AssembledServer } from '../../src/server/assemble-server.ts';
import { serverConfigurationSchema } from '../../src/server/config/config.ts';
import { createDaemonClient } from '../../src/server/daemon-client/daemon-client.ts';
import { readConsoleFiles, type ConsoleFile } from '../../src/server/console/console-files.ts';
import { listenPublic, type PublicListening } from '../../src/server/listen-public.ts';
import { readOpenApiDocument } from '../../src/server/http/openapi-document.ts';
import { createHashPool } from '../../src/platform/hashing/hash-pool.ts';
import { startFakeDaemon, type FakeDaemon } from './fake-daemon.ts';
import { makeStore, type TestStore } from './make-store.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A server over a handmade store and a fake daemon, in this process. */
export interface TestServer {
  readonly url: string;
  readonly store: TestStore;
  readonly daemon: FakeDaemon;
  readonly parts: AssembledServer;
  readonly listening: PublicListening;
  readonly registry: Registry;
  /** Every log line so far. */
  readonly log: string[];
  setShuttingDown(): void;
}

/** How long a test's server waits for the daemon unless the test says otherwise, milliseconds. */
const DAEMON_TIMEOUT_MS = 1_500;

/** Starts a server. It stops with the running test. */
export async function startTestServer(
  options: {
    readonly config?: Readonly<Record<string, unknown>>;
    readonly clock?: Clock;
    /** Origin of the daemon, if it is not the fake one. */
    readonly daemonUrl?: string;
    /** Unix socket to use instead of the host of the daemon's origin. */
    readonly daemonSocket?: string;
    /** The token to send to the daemon, or why it cannot be read; default none. */
    readonly daemonToken?: string | Error;
    /** Milliseconds to wait for the daemon. The default is short, for daemons that never answer. */
    readonly daemonTimeoutMs?: number;
    /** Default debug. */
    readonly logLevel?: LogLevel;
    /** Default true; with false the test sets the evidence. */
    readonly refresh?: boolean;
    /** Default true, as in the program; false leaves every request to the full server. */
    readonly fast?: boolean;
    /** Default the built console. */
    readonly consoleFiles?: ReadonlyMap<string, ConsoleFile>;
  } = {},
): Promise<TestServer> {
  const store = await makeStore(await temporaryDirectory());
  const daemon = await startFakeDaemon();
  const log: string[] = [];
  const clock = options.clock ?? systemClock;
  const timeoutMs = options.daemonTimeoutMs ?? DAEMON_TIMEOUT_MS;
  const config = serverConfigurationSchema.parse({
    publicBaseUrl: 'https://resources.example.org',
    listen: { host: '127.0.0.1', port: 0 },
    snapshot: { root: store.root },
    fastPath: { enabled: options.fast !== false },
    attestation: { publicKeyFiles: ['unused.pub'] },
    daemon: { url: daemon.url, timeoutMs, waitSeconds: 1 },
    ...options.config,
  });
  const connection = {
    url: options.daemonUrl ?? daemon.url,
    socketPath: options.daemonSocket,
    timeoutMs,
    readToken: async () => {
      if (options.daemonToken instanceof Error) throw options.daemonToken;
      return options.daemonToken ?? null;
    },
  };
  const client = createDaemonClient(connection, systemClock);
  const proxy = createDaemonProxy(connection);
  const secrets = createSecretMask();
  const pool = createHashPool({ threads: 1 });
  let shuttingDown = false;
  const registry = createRegistry({ name: 'slipway-server', version: '0.1.0' });
  const parts = assembleServer(config, {
    trustedKeys: { current: () => store.trustedKeys, refresh: async () => false },
    client,
    proxy,
    consoleFiles: options.consoleFiles ?? (await readConsoleFiles({ runbooks: config.runbooks.url })),
    openApi: await readOpenApiDocument(),
    pool,
    registry,
    clock,
    logger: createLogger({
      name: 'test',
      level: options.logLevel ?? 'debug',
      mask: secrets.mask,
      destination: { write: (line) => log.push(line) },
    }),
    secrets,
    random: () => 0,
    isShuttingDown: () => shuttingDown,
    version: '0.1.0',
    hostName: 'server-0',
    shareMinute: () => undefined,
    fewOpenFiles: null,
  });
  const listening = await listenPublic(config, parts);
  if (options.refresh !== false) parts.room.refresher.start();
  onTestFinished(async () => {
    await parts.room.stop();
    proxy.close();
    await client.close();
    parts.bytePath.close();
    await listening.close(AbortSignal.abort());
    await pool.close();
    registry.clear();
  });
  return {
    url: listening.url,
    store,
    daemon,
    parts,
    listening,
    registry,
    log,
    setShuttingDown: () => {
      shuttingDown = true;
    },
  };
}
