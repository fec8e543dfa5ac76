import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import type { AttestedRelease } from '../../src/domain/verdict/attestation.ts';
import { startFakeDaemon, type FakeDaemon } from './fake-daemon.ts';
import { makeStore, type Attestation, type StoredRelease, type TestStore } from './make-store.ts';
import { startSlipway, type SlipwayProcess } from './process.ts';
import type { AtEnd } from './shared-fixture.ts';
import { CDN_HOST } from './system.ts';
import { until } from './until.ts';

/** Options of a served process. */
export interface ServedProcessOptions {
  /** Whether the fast path is in front. */
  readonly fastPath: boolean;
  /** The current official release. More can be added to the store later. */
  readonly release: StoredRelease;
  /** Whole sections of the server's configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** A command to run the server under, such as `strace` with its arguments. */
  readonly wrapper?: readonly string[];
  /** Runs it with the heap settings of users. */
  readonly measuresMemory?: boolean;
  /** By default everything stops with the running test. */
  readonly atEnd?: AtEnd;
  /** Default true; with false the test attests. */
  readonly attest?: boolean;
}

/** A real server process over a handmade store, and a daemon that attests the releases of the test. */
export interface ServedProcess {
  readonly port: number;
  readonly url: string;
  readonly metricsUrl: string;
  /** Holds the store, the keys and the configuration. */
  readonly directory: string;
  readonly store: TestStore;
  readonly daemon: FakeDaemon;
  readonly process: SlipwayProcess;
  /** The release of the options, as attested. */
  readonly release: AttestedRelease;
  /**
   * The request target of a destination: under a release's immutable path when a release is named, otherwise under the
   * current one.
   */
  target(destination: string, releaseId?: string): string;
  /** Attests this from now on, with the next version. */
  attest(attestation: Partial<Attestation>): void;
  /** Waits until the server uses the newest attestation. */
  untilAttested(): Promise<void>;
  /** Waits until `/readyz` reports this readiness and this release. */
  untilReady(ready: boolean, releaseId?: string): Promise<{ readonly reason: string | null }>;
  /** The value of a metric, summed over its labels. */
  metric(name: string): Promise<number>;
}

/** Starts a server process that serves a release. */
export async function startServedProcess(options: ServedProcessOptions): Promise<ServedProcess> {
  const atEnd: AtEnd = options.atEnd ?? onTestFinished;
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'slipway-test-')));
  atEnd(async () => {
    await rm(directory, { recursive: true, force: true });
  });
  const store = await makeStore(join(directory, 'snapshot'));
  const daemon = await startFakeDaemon(atEnd);
  const release = await store.addRelease(options.release);
  let version = 0;
  const attest = (attestation: Partial<Attestation>): void => {
    version += 1;
    daemon.setEnvelope(
      store.attest({ version, issuedAt: Math.floor(Date.now() / 1000) - 1, lifetime: 3600, ...attestation }),
    );
  };
  if (options.attest !== false) attest({ official: release });
  const started = await startProcess(options, { directory, store, daemon }, atEnd);
  const port = Number(new URL(started.url).port);
  const served: ServedProcess = {
    port,
    url: started.url,
    metricsUrl: metricsUrlOf(started),
    directory,
    store,
    daemon,
    process: started,
    release,
    target: (destination, releaseId) =>
      `/${CDN_HOST}/${releaseId === undefined ? '' : `${releaseId}/`}${destination.split('/').map(encodeURIComponent).join('/')}`,
    attest,
    untilAttested: async () => {
      await until(async () => {
        const body = (await (await fetch(`${started.url}/readyz`)).json()) as {
          attestation: { version: number } | null;
        };
        return body.attestation?.version === version;
      });
    },
    untilReady: async (ready, releaseId) =>
      await until(async () => {
        const body = (await (await fetch(`${started.url}/readyz`)).json()) as {
          distributable: boolean;
          reason: string | null;
          release_id: string | null;
        };
        const isThis = releaseId === undefined || body.release_id === releaseId;
        return body.distributable === ready && isThis ? body : null;
      }),
    metric: async (name) => {
      const text = await (await fetch(`${served.metricsUrl}/metrics`)).text();
      const lines = text
        .split('\n')
        .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
      if (lines.length === 0) throw new Error(`no metric ${name}`);
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
    },
  };
  if (options.attest !== false) await served.untilReady(true);
  return served;
}

async function startProcess(
  { fastPath, config, wrapper, measuresMemory = false }: ServedProcessOptions,
  { directory, store, daemon }: Pick<ServedProcess, 'directory' | 'store' | 'daemon'>,
  atEnd: AtEnd,
): Promise<SlipwayProcess> {
  const publicKey = join(directory, 'signing.pub');
  const configuration = join(directory, 'server.yaml');
  await writeFile(publicKey, store.publicKeyPem);
  await writeFile(
    configuration,
    stringify({
      listen: { host: '127.0.0.1', port: 0 },
      metrics: { host: '127.0.0.1', port: 0 },
      publicBaseUrl: 'https://resources.test.invalid',
      cdn: { host: CDN_HOST },
      snapshot: { root: store.root },
      daemon: { url: daemon.url },
      attestation: { publicKeyFiles: [publicKey] },
      shutdown: { propagationDelaySeconds: 0 },
      fastPath: { enabled: fastPath },
      log: { access: 'none' },
      // The test decides how damage is found.
      scrub: { enabled: false },
      ...config,
    }),
  );
  const started = await startSlipway('server', ['--config', configuration], {
    measuresMemory,
    ...(wrapper === undefined ? {} : { wrapper }),
  });
  atEnd(async () => {
    await started.kill();
  });
  return started;
}

function metricsUrlOf({ lines }: SlipwayProcess): string {
  const line = lines.find((text) => text.includes('"server listening"'));
  if (line === undefined) throw new Error('the server has not said where its metrics are');
  return (JSON.parse(line) as { metrics_url: string }).metrics_url;
}
