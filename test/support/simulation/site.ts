import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../../demo/game/seeded-random.ts';
import { loadSigningKeys } from '../../../src/attestation/keys.ts';
import { Daemon } from '../../../src/daemon/daemon.ts';
import { daemonConfigurationSchema } from '../../../src/daemon/settings/config.ts';
import type { LoadedSettings } from '../../../src/daemon/settings/daemon-settings.ts';
import { createLogger, type Logger } from '../../../src/platform/logging/logging.ts';
import { createSecretMask } from '../../../src/platform/logging/secret-mask.ts';
import { createLifecycle, type Lifecycle } from '../../../src/platform/process/lifecycle.ts';
import { serverConfigurationSchema } from '../../../src/server/config/config.ts';
import { startServer } from '../../../src/server/server.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { ask, type Answer } from './ask.ts';
import { CrashCopy } from './crash-copy.ts';
import { Front } from './front.ts';

/** The CDN host of every site. */
export const CDN_HOST = 'cdn.test.invalid';
/** Milliseconds that a program may take to stop. */
const STOP_MS = 30_000;
/** Lines of each log that are kept for a failure. */
const LOG_LINES = 200;

/** The body of `/readyz`, as far as it is read here. */
export interface Readiness {
  readonly distributable: boolean;
  readonly reason: string | null;
  readonly message: string;
  readonly release_id: string | null;
  readonly attestation: { readonly version: number } | null;
}

/** The body of `/healthz`, as far as it is read here. */
export interface Health {
  readonly service: { readonly state: string; readonly reason: string | null };
  readonly verdicts: {
    readonly official: { readonly distributable: boolean; readonly reason: string | null };
  };
}

/** Where the releases of a site come from. */
export type SiteUpstream = Readonly<Record<string, unknown>>;

/**
 * One machine of the simulation: a clock, a volume, a data folder, keys, and a daemon and a server that run in this
 * process. Both can be started and ended at any time.
 */
export class Site {
  readonly clock: FakeClock;
  readonly folder: string;
  /** The newest lines of both logs. */
  readonly log: string[] = [];
  /** Why the daemon ended without a request; `null` while it did not. */
  ended: string | null = null;
  /** The files as they were when the daemon was killed, until it is started again. */
  readonly crash: CrashCopy;
  readonly #random: Random;
  readonly #upstream: () => SiteUpstream;
  readonly #front = new Front();
  #keyFiles: readonly string[];
  #trusted: readonly string[];
  #daemon: { readonly program: Daemon; started: 'starting' | 'started' | 'failed' } | null = null;
  #server: { readonly lifecycle: Lifecycle } | null = null;
  #boots = 0;
  /** Counts down to the kill of the daemon. */
  #killAfter: { readonly failpoint: string; left: number } | null = null;

  constructor(given: {
    readonly folder: string;
    readonly startMs: number;
    readonly random: Random;
    readonly upstream: () => SiteUpstream;
    readonly keyFiles: readonly string[];
  }) {
    this.folder = given.folder;
    this.clock = new FakeClock(given.startMs);
    this.#random = given.random;
    this.#upstream = given.upstream;
    this.#keyFiles = given.keyFiles;
    this.#trusted = given.keyFiles.map((file) => file.replace(/\.key$/, '.pub'));
    mkdirSync(this.disk, { recursive: true });
    this.crash = new CrashCopy([this.volume, this.data], join(this.folder, 'crash'));
  }

  /** The disk that the volume is on; it can have a file system of its own. */
  get disk(): string {
    return join(this.folder, 'disk');
  }

  get volume(): string {
    return join(this.disk, 'volume');
  }

  get data(): string {
    return join(this.folder, 'data');
  }

  /** The address of the server, also while no server runs. */
  get url(): string {
    return this.#front.url;
  }

  get hasDaemon(): boolean {
    return this.#daemon?.started === 'started' && this.ended === null;
  }

  get isStarting(): boolean {
    return this.#daemon?.started === 'starting';
  }

  get hasServer(): boolean {
    return this.#server !== null;
  }

  /** Cuts the network between this site and those who ask for it. */
  get isCut(): boolean {
    return this.#front.isCut;
  }

  set isCut(isCut: boolean) {
    this.#front.isCut = isCut;
    if (isCut) this.#front.drop();
  }

  async open(): Promise<void> {
    mkdirSync(this.volume, { recursive: true });
    await this.#front.open();
  }

  async close(): Promise<void> {
    await this.stopServer();
    await this.stopDaemon();
    await this.#front.close();
  }

  /** Signs with these keys from now on, and lets the next server trust these. */
  async rotateKeys(keyFiles: readonly string[], trusted: readonly string[]): Promise<void> {
    this.#keyFiles = keyFiles;
    this.#trusted = trusted;
    await this.control('reload');
  }

  /** Starts the daemon; whether it has started is told by `hasDaemon`, because the clock may have to move until then. */
  async startDaemon(): Promise<void> {
    if (this.#daemon !== null) return;
    this.ended = null;
    this.#boots += 1;
    const settings = await this.#loadSettings();
    const random = this.#random;
    const program = new Daemon(settings.configuration, {
      clock: this.clock,
      random: () => random.below(1_000_000) / 1_000_000,
      randomBytes: (count) => random.bytes(count),
      logger: this.#logger('daemon'),
      secrets: createSecretMask(),
      logRing: { tail: () => [] },
      failpoints: { hit: (name) => this.#hit(name) },
      signingKeys: settings.signingKeys,
      loadSettings: async () => ({ ok: true, value: await this.#loadSettings() }),
      supervision: null,
      version: '0.1.0-simulation',
      bootId: `boot-${this.#boots}`,
      requestShutdown: (reason) => {
        this.ended ??= reason;
      },
    });
    const daemon: { readonly program: Daemon; started: 'starting' | 'started' | 'failed' } = {
      program,
      started: 'starting',
    };
    this.#daemon = daemon;
    void program.start().then(
      () => {
        daemon.started = 'started';
      },
      (error: unknown) => {
        daemon.started = 'failed';
        this.ended ??= `it did not start: ${error instanceof Error ? error.message : String(error)}`;
      },
    );
  }

  /** Stops the daemon cleanly. */
  async stopDaemon(): Promise<void> {
    const stopping = this.#daemon;
    if (stopping === null) return;
    await this.#whileTimePasses(stopping.program.stop(AbortSignal.timeout(STOP_MS)));
    this.#daemon = null;
    this.#killAfter = null;
    // A process that was killed leaves what it had written by then.
    this.crash.restore();
  }

  /** Kills the daemon when it has reached a failpoint so many times. */
  killAt(failpoint: string, times: number): void {
    this.#killAfter = { failpoint, left: times };
  }

  async startServer(): Promise<void> {
    if (this.#server !== null) return;
    const random = this.#random;
    const logger = this.#logger('server');
    const lifecycle = createLifecycle({
      logger,
      clock: this.clock,
      exit: () => undefined,
      deadlineMs: STOP_MS,
      events: { on: () => undefined, off: () => undefined },
    });
    const configuration = serverConfigurationSchema.parse({
      listen: { host: '127.0.0.1', port: 0 },
      metrics: { host: '127.0.0.1', port: 0 },
      publicBaseUrl: 'https://resources.example.org',
      cdn: { host: CDN_HOST },
      snapshot: { root: this.volume },
      daemon: { socketPath: this.#socketPath, tokenFile: join(this.data, 'api.token') },
      attestation: { publicKeyFiles: this.#trusted },
      shutdown: { propagationDelaySeconds: 0 },
      log: { access: 'none' },
    });
    const { url } = await startServer(configuration, {
      clock: this.clock,
      logger,
      secrets: createSecretMask(),
      lifecycle,
      version: '0.1.0-simulation',
      hostName: 'simulation',
      random: () => random.below(1_000_000) / 1_000_000,
    });
    this.#server = { lifecycle };
    this.#front.target = Number(new URL(url).port);
  }

  async stopServer(): Promise<void> {
    const stopping = this.#server;
    if (stopping === null) return;
    this.#front.target = null;
    this.#server = null;
    await this.#whileTimePasses(stopping.lifecycle.shutdown('the simulation'));
  }

  /** Requests a path of the server. @returns `null` when the connection fails or breaks */
  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer | null> {
    const { target: port } = this.#front;
    return port === null ? null : await ask({ port, path, headers });
  }

  /** The verdict of the server. @returns `null` when it does not answer */
  async readiness(): Promise<Readiness | null> {
    const answer = await this.get('/readyz');
    return answer === null ? null : (JSON.parse(answer.body.toString()) as Readiness);
  }

  /** The health report of the server. @returns `null` when it does not answer */
  async health(): Promise<Health | null> {
    const answer = await this.get('/healthz');
    return answer === null ? null : (JSON.parse(answer.body.toString()) as Health);
  }

  /** The version of the newest attestation of the daemon; `null` when it has none or does not answer. */
  async attestedVersion(): Promise<number | null> {
    const answer = await this.#askDaemon('/v1/attestation');
    return answer?.status === 200 ? Number(answer.headers.etag?.replaceAll('"', '')) : null;
  }

  /** Starts the daemon again when it has ended without a request, as a kubelet does. */
  async revive(): Promise<void> {
    if (this.ended === null || this.isStarting) return;
    await this.stopDaemon();
    await this.startDaemon();
  }

  /** Requests a report of the daemon. @returns `null` when the daemon does not answer it */
  async report(name: string): Promise<Record<string, unknown> | null> {
    const answer = await this.#askDaemon(`/v1/reports/${name}`);
    return answer?.status === 200 ? (JSON.parse(answer.body.toString()) as Record<string, unknown>) : null;
  }

  /** Posts an action to the daemon. @returns the id of its task, or `null` when it was not accepted */
  async control(action: string, body: object = {}, key?: string): Promise<string | null> {
    const answer = await this.#askDaemon(`/v1/control/${action}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      body: JSON.stringify(body),
    });
    if (answer?.status !== 202) return null;
    return (JSON.parse(answer.body.toString()) as { readonly task_id: string }).task_id;
  }

  async #askDaemon(
    path: string,
    { headers = {}, ...more }: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ): Promise<Answer | null> {
    if (!this.hasDaemon) return null;
    const token = (await readFile(join(this.data, 'api.token'), 'utf8')).trim();
    const answer = await ask({
      socketPath: this.#socketPath,
      path,
      headers: { host: 'localhost', authorization: `Bearer ${token}`, ...headers },
      ...more,
    });
    // The process had ended by then.
    return this.crash.isTaken ? null : answer;
  }

  get #socketPath(): string {
    return join(this.folder, 'api');
  }

  /** Runs what waits for the clock, such as the end of a loop. */
  async #whileTimePasses<T>(work: Promise<T>): Promise<T | null> {
    let isDone = false;
    const done = work.then(
      (value) => value,
      () => null,
    );
    void done.then(() => {
      isDone = true;
    });
    while (!isDone) {
      await this.clock.skip(100);
      await turn();
    }
    return await done;
  }

  #hit(name: string): void {
    if (this.crash.isTaken) throw new Error('the daemon was killed');
    const kill = this.#killAfter;
    if (kill === null || kill.failpoint !== name) return;
    kill.left -= 1;
    if (kill.left > 0) return;
    this.#killAfter = null;
    this.crash.take();
    this.ended = `killed at ${name}`;
    throw new Error('the daemon was killed');
  }

  #logger(name: string): Logger {
    return createLogger({
      name,
      level: 'info',
      destination: {
        write: (line) => {
          this.log.push(line);
          if (this.log.length > LOG_LINES) this.log.shift();
        },
      },
    });
  }

  async #loadSettings(): Promise<LoadedSettings> {
    const keys = await loadSigningKeys(this.#keyFiles);
    if (!keys.ok) throw new Error(keys.error.join('; '));
    const configuration = daemonConfigurationSchema.parse({
      listen: { socketPath: this.#socketPath },
      snapshot: { root: this.volume },
      data: { dir: this.data },
      // Short times, so that little time has to pass.
      attestation: { signingKeyFiles: this.#keyFiles, ttlSeconds: 60 },
      sync: { intervalSeconds: 60 },
      upstream: this.#upstream(),
      parse: { automatic: false },
      translation: { automatic: false },
    });
    return { configuration, signingKeys: keys.value.keys, warnings: [] };
  }
}

/** Turns of the event loop without file access after which nothing more follows from it. */
const QUIET_TURNS = 4;

/** Lets everything run that is ready to run, and waits until no file is accessed. */
export async function turn(): Promise<void> {
  for (let quiet = 0; quiet < QUIET_TURNS; quiet += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    if (process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))) {
      await delay(0);
      quiet = 0;
    }
  }
}
