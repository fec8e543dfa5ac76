import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '../../../demo/game/seeded-random.ts';
import { loadSigningKeys } from '../../../src/attestation/keys.ts';
import { Daemon } from '../../../src/daemon/daemon.ts';
import { createLogRing } from '../../../src/daemon/reports/log-ring.ts';
import { daemonConfigurationSchema } from '../../../src/daemon/settings/config.ts';
import type { LoadedSettings } from '../../../src/daemon/settings/daemon-settings.ts';
import { createLogger, type LogDestination } from '../../../src/platform/logging/logging.ts';
import { createSecretMask } from '../../../src/platform/logging/secret-mask.ts';
import type { FakeClock } from '../../fakes/fake-clock.ts';
import { ask, type Answer } from './ask.ts';
import { CrashCopy } from './crash-copy.ts';
import { whileTimePasses } from './turn.ts';

/** Milliseconds that the daemon may take to stop. */
const STOP_MS = 30_000;

/** What a daemon of the simulation is started with. */
export interface DaemonPlace {
  readonly clock: FakeClock;
  readonly random: Random;
  readonly volume: string;
  readonly data: string;
  /** Where the files are kept as they were at a kill. */
  readonly crashFolder: string;
  readonly socketPath: string;
  readonly upstream: () => Readonly<Record<string, unknown>>;
  /** The address of the provider of translations; `null` where nothing is translated. */
  readonly provider: (() => string) | null;
  readonly log: LogDestination;
}

/** The report `release.status`, as far as it is read here. */
interface ReleaseStatus {
  readonly official: { readonly release_id: string } | null;
  readonly localized: { readonly base_release_id?: string } | null;
  readonly attestation: { readonly version: number } | null;
}

/** A daemon that runs in this process, and that can be killed inside of a write. */
export class SimulatedDaemon {
  readonly #place: DaemonPlace;
  readonly #crash: CrashCopy;
  #keyFiles: readonly string[];
  #program: Daemon | null = null;
  #state: 'stopped' | 'starting' | 'started' | 'ended' = 'stopped';
  #boots = 0;
  #kill: { readonly failpoint: string; left: number } | null = null;

  constructor(place: DaemonPlace, keyFiles: readonly string[]) {
    this.#place = place;
    this.#keyFiles = keyFiles;
    this.#crash = new CrashCopy([place.volume, place.data], place.crashFolder);
  }

  get isStarting(): boolean {
    return this.#state === 'starting';
  }

  /** Whether it has ended without a request. */
  get hasEnded(): boolean {
    return this.#state === 'ended';
  }

  /** Starts it in the background, because the clock may have to move until it has started. */
  async start(): Promise<void> {
    if (this.#program !== null) return;
    const { clock, random, log } = this.#place;
    const { configuration, signingKeys } = await this.#loadSettings();
    this.#boots += 1;
    const logRing = createLogRing(log);
    const program = new Daemon(configuration, {
      clock,
      random: () => random.below(1_000_000) / 1_000_000,
      randomBytes: (count) => random.bytes(count),
      logger: createLogger({ name: 'daemon', level: 'info', destination: logRing }),
      secrets: createSecretMask(),
      logRing,
      failpoints: { hit: (name) => this.#hit(name) },
      signingKeys,
      loadSettings: async () => ({ ok: true, value: await this.#loadSettings() }),
      supervision: null,
      version: '0.1.0-simulation',
      bootId: `boot-${this.#boots}`,
      requestShutdown: () => {
        this.#state = 'ended';
      },
    });
    this.#program = program;
    this.#state = 'starting';
    const reached = (state: 'started' | 'ended') => (): void => {
      if (this.#program === program && this.#state === 'starting') this.#state = state;
    };
    void program.start().then(reached('started'), reached('ended'));
  }

  /** Stops it cleanly; after a kill, its files are as they were at the kill. */
  async stop(): Promise<void> {
    const program = this.#program;
    if (program === null) return;
    await whileTimePasses(this.#place.clock, program.stop(AbortSignal.timeout(STOP_MS)));
    this.#program = null;
    this.#state = 'stopped';
    this.#kill = null;
    this.#crash.restore();
  }

  /** Kills it when it has reached a failpoint so many times. */
  killAt(failpoint: string, times: number): void {
    this.#kill = { failpoint, left: times };
  }

  /** Signs with these keys from the next reload or start. */
  useKeys(keyFiles: readonly string[]): void {
    this.#keyFiles = keyFiles;
  }

  /** Requests a report. @returns `null` when it does not answer it */
  async report(name: string): Promise<Record<string, unknown> | null> {
    const answer = await this.#ask(`/v1/reports/${name}`);
    return answer?.status === 200 ? (JSON.parse(answer.body.toString()) as Record<string, unknown>) : null;
  }

  /** Posts an action. @returns the id of its task, or `null` when it was not accepted */
  async control(action: string, key?: string, body: object = {}): Promise<string | null> {
    const answer = await this.#post(action, body, key === undefined ? {} : { 'idempotency-key': key });
    if (answer?.status !== 202) return null;
    return (JSON.parse(answer.body.toString()) as { readonly task_id: string }).task_id;
  }

  /** Posts an action that is done before the answer. @returns whether it was done */
  async accepts(action: string, body: object): Promise<boolean> {
    return (await this.#post(action, body, {}))?.status === 202;
  }

  /** The version of its newest attestation; `null` when it has none or does not answer. */
  async attestedVersion(): Promise<number | null> {
    const answer = await this.#ask('/v1/attestation');
    return answer?.status === 200 ? Number(answer.headers.etag?.replaceAll('"', '')) : null;
  }

  /** What it reports of the current releases; `null` when it does not answer. */
  async releaseStatus(): Promise<ReleaseStatus | null> {
    return (await this.report('release.status')) as unknown as ReleaseStatus | null;
  }

  async #post(action: string, body: object, headers: Record<string, string>): Promise<Answer | null> {
    const all = { 'content-type': 'application/json', ...headers };
    return await this.#ask(`/v1/control/${action}`, {
      method: 'POST',
      headers: all,
      body: JSON.stringify(body),
    });
  }

  async #ask(
    path: string,
    { headers = {}, ...more }: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ): Promise<Answer | null> {
    if (this.#state !== 'started') return null;
    const { data, socketPath } = this.#place;
    const token = (await readFile(join(data, 'api.token'), 'utf8')).trim();
    const known = { host: 'localhost', authorization: `Bearer ${token}` };
    const answer = await ask({ socketPath, path, headers: { ...known, ...headers }, ...more });
    // An answer of a process that was killed by then is an answer that nobody got.
    if (this.#crash.isTaken) return null;
    // A call that is not valid is a fault of the simulation.
    if (answer?.status === 500 || answer?.status === 400)
      throw new Error(`${path}: ${answer.body.toString()}`);
    return answer;
  }

  #hit(name: string): void {
    if (this.#crash.isTaken) throw new Error('the daemon was killed');
    if (this.#kill?.failpoint !== name) return;
    this.#kill.left -= 1;
    if (this.#kill.left > 0) return;
    this.#kill = null;
    this.#crash.take();
    this.#state = 'ended';
    throw new Error('the daemon was killed');
  }

  async #loadSettings(): Promise<LoadedSettings> {
    const { volume, data, socketPath, upstream, provider } = this.#place;
    const keys = await loadSigningKeys(this.#keyFiles);
    if (!keys.ok) throw new Error(keys.error.join('; '));
    const configuration = daemonConfigurationSchema.parse({
      listen: { socketPath },
      snapshot: { root: volume },
      data: { dir: data },
      // Short times, so that little time has to pass.
      attestation: { signingKeyFiles: this.#keyFiles, ttlSeconds: 60 },
      sync: { intervalSeconds: 60 },
      backup: { intervalSeconds: 300, keep: 2 },
      upstream: upstream(),
      translation: provider === null ? {} : { providers: { machine: providerAt(provider()) } },
    });
    return { configuration, signingKeys: keys.value.keys, warnings: [] };
  }
}

function providerAt(url: string): object {
  return { kind: 'libretranslate', url, allowHosts: ['127.0.0.1'], limits: { attempts: 2 } };
}
