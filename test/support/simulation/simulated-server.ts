import type { Random } from '../../../demo/game/seeded-random.ts';
import { createLogger, type LogDestination } from '../../../src/platform/logging/logging.ts';
import { createSecretMask } from '../../../src/platform/logging/secret-mask.ts';
import { createLifecycle, type Lifecycle } from '../../../src/platform/process/lifecycle.ts';
import { serverConfigurationSchema } from '../../../src/server/config/config.ts';
import { startServer } from '../../../src/server/server.ts';
import type { FakeClock } from '../../fakes/fake-clock.ts';
import { ask, type Answer } from './ask.ts';
import { Front } from './front.ts';
import { whileTimePasses } from './turn.ts';

/** The CDN host of every site. */
export const CDN_HOST = 'cdn.test.invalid';
/** Milliseconds that the server may take to stop. */
const STOP_MS = 30_000;

/** The verdict on a channel, as far as it is read here. */
interface Verdict {
  readonly distributable: boolean;
  readonly reason: string | null;
  readonly release_id: string | null;
}

/** The body of `/readyz`, as far as it is read here. */
export interface Readiness extends Verdict {
  readonly attestation: { readonly version: number; readonly expires_at: number } | null;
}

/** The body of `/healthz`, as far as it is read here. */
interface Health {
  readonly service: { readonly state: string; readonly reason: string | null };
  readonly verdicts: Readonly<Record<'official' | 'localized', Verdict>>;
}

/** The reason of the official verdict and the state of the service, as the metrics have them. */
interface StoryOfMetrics {
  readonly reason: string | null;
  readonly state: string | null;
}

/** What a server of the simulation is started with. */
export interface ServerPlace {
  readonly clock: FakeClock;
  readonly random: Random;
  readonly volume: string;
  readonly daemonSocket: string;
  readonly daemonToken: string;
  readonly log: LogDestination;
}

/** A server that runs in this process, behind an address that stays. */
export class SimulatedServer {
  readonly front = new Front();
  readonly #place: ServerPlace;
  #trustedKeys: readonly string[];
  #lifecycle: Lifecycle | null = null;
  #port: number | null = null;
  #metricsUrl: string | null = null;

  constructor(place: ServerPlace, trustedKeys: readonly string[]) {
    this.#place = place;
    this.#trustedKeys = trustedKeys;
  }

  /** Trusts these keys from its next start. */
  useKeys(trustedKeys: readonly string[]): void {
    this.#trustedKeys = trustedKeys;
  }

  async start(): Promise<void> {
    if (this.#lifecycle !== null) return;
    const { clock, random, volume, daemonSocket, daemonToken, log } = this.#place;
    const logger = createLogger({ name: 'server', level: 'info', destination: log });
    const lifecycle = createLifecycle({
      logger,
      clock,
      exit: () => undefined,
      deadlineMs: STOP_MS,
      events: { on: () => undefined, off: () => undefined },
    });
    const configuration = serverConfigurationSchema.parse({
      listen: { host: '127.0.0.1', port: 0 },
      metrics: { host: '127.0.0.1', port: 0 },
      publicBaseUrl: 'https://resources.example.org',
      // Without the cache, each request reads the volume.
      cdn: { host: CDN_HOST },
      cache: { blockBytes: 0 },
      snapshot: { root: volume },
      daemon: { socketPath: daemonSocket, tokenFile: daemonToken },
      attestation: { publicKeyFiles: this.#trustedKeys },
      shutdown: { propagationDelaySeconds: 0 },
      log: { access: 'none' },
    });
    const { url, metricsUrl } = await startServer(configuration, {
      clock,
      logger,
      secrets: createSecretMask(),
      lifecycle,
      version: '0.1.0-simulation',
      hostName: 'simulation',
      random: () => random.below(1_000_000) / 1_000_000,
    });
    this.#lifecycle = lifecycle;
    this.#port = Number(new URL(url).port);
    this.front.target = this.#port;
    this.#metricsUrl = metricsUrl;
  }

  async stop(): Promise<void> {
    const lifecycle = this.#lifecycle;
    if (lifecycle === null) return;
    this.#lifecycle = null;
    this.#port = null;
    this.front.target = null;
    await whileTimePasses(this.#place.clock, lifecycle.shutdown('the simulation'));
  }

  /** Requests a path. @returns `null` when no server runs, or the connection breaks */
  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer | null> {
    const port = this.#port;
    return port === null ? null : await ask({ port, path, headers });
  }

  /** The verdict on the official channel; `null` when it does not answer. */
  async readiness(): Promise<Readiness | null> {
    const answer = await this.get('/readyz');
    return answer === null ? null : (JSON.parse(answer.body.toString()) as Readiness);
  }

  /** The health report; `null` when it does not answer. */
  async health(): Promise<Health | null> {
    const answer = await this.get('/healthz');
    return answer === null ? null : (JSON.parse(answer.body.toString()) as Health);
  }

  /** The metrics; `null` when it does not answer. */
  async metrics(): Promise<StoryOfMetrics | null> {
    if (this.#port === null || this.#metricsUrl === null) return null;
    const { port } = new URL(this.#metricsUrl);
    const answer = await ask({ port: Number(port), path: '/metrics' });
    if (answer === null) return null;
    const text = answer.body.toString();
    return {
      reason: /^slipway_verdict\{channel="official",reason="(\w+)"\} 1$/m.exec(text)?.[1] ?? null,
      state: /^slipway_service_state\{channel="all",state="(\w+)"\} 1$/m.exec(text)?.[1] ?? null,
    };
  }
}
