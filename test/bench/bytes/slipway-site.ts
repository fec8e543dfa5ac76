import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { makeKeys } from '../../support/make-keys.ts';
import { startSlipway, type SlipwayProcess } from '../../support/process.ts';
import { until } from '../../support/until.ts';
import type { Peer } from './peer.ts';

const CDN_HOST = 'cdn.bench.invalid';
/** Generous, because the machine may be busy. */
const READY_MS = 3_600_000;
/** Between two looks at whether a server is ready: a switch is measured to this. */
const LONGEST_PAUSE_MS = 20;

/** A real server process of a site. */
export interface SlipwayServer extends Peer {
  readonly port: number;
  /** The request target of a file in the current release, by its immutable path. */
  target(path: string): string;
  /** The value of a metric, summed over its labels, or of one sample with its labels; 0 if it is absent. */
  metric(name: string): Promise<number>;
  signal(name: NodeJS.Signals): void;
  /** Waits until a release other than this one is served, and returns its id. */
  untilServes(other: string): Promise<string>;
}

/** A real daemon that syncs a directory into a real store, and real servers of that store. */
export interface SlipwaySite {
  /** Process id of the daemon. */
  readonly daemonPid: number;
  /** Origin of the daemon's API. */
  readonly daemonUrl: string;
  /** The value of a metric of the daemon, summed over its labels; 0 if it is absent. */
  daemonMetric(name: string): Promise<number>;
  /** Starts a server with these whole sections in its configuration, and waits until it serves. */
  startServer(name: string, config?: Readonly<Record<string, unknown>>): Promise<SlipwayServer>;
  /** Changes the directory, so that the next sync finds another release, and starts that sync. */
  publish(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts the daemon of a site whose upstream is a directory of files.
 *
 * @param config whole sections of the configuration of the daemon
 * @param commands under which the daemon and the servers run
 */
export async function startSlipwaySite(
  directory: string,
  files: string,
  config: Readonly<Record<string, unknown>> = {},
  commands: { readonly daemon?: readonly string[]; readonly server?: readonly string[] } = {},
): Promise<SlipwaySite> {
  const snapshot = { root: join(directory, 'snapshot') };
  const keys = join(directory, 'keys');
  await mkdir(snapshot.root, { recursive: true });
  await makeKeys(keys);
  const daemonFile = join(directory, 'daemon.yaml');
  await writeFile(
    daemonFile,
    stringify({
      listen: { host: '127.0.0.1', port: 0 },
      snapshot,
      data: { dir: join(directory, 'data') },
      requireToken: false,
      attestation: { signingKeyFiles: [join(keys, 'signing.key')] },
      upstream: { kind: 'directory', directory: { path: files } },
      metrics: { host: '127.0.0.1', port: 0 },
      ...config,
    }),
  );
  const daemon = await startSlipway('daemon', ['--config', daemonFile], {
    wrapper: commands.daemon ?? [],
    measuresMemory: true,
  });
  const servers = new Set<SlipwayProcess>();
  let generation = 0;
  return {
    daemonPid: daemon.pid,
    daemonUrl: daemon.url,
    daemonMetric: async (metric) => await readMetric(daemon, metric),
    startServer: async (name, config = {}) => {
      const file = join(directory, `${name.replaceAll(/\W+/g, '-')}.yaml`);
      await writeFile(
        file,
        stringify({
          listen: { host: '127.0.0.1', port: 0 },
          metrics: { host: '127.0.0.1', port: 0 },
          publicBaseUrl: 'https://resources.bench.invalid',
          cdn: { host: CDN_HOST },
          snapshot,
          daemon: { url: daemon.url },
          attestation: { publicKeyFiles: [join(keys, 'signing.pub')] },
          shutdown: { propagationDelaySeconds: 0 },
          fastPath: { enabled: true },
          log: { access: 'none' },
          scrub: { enabled: false },
          ...config,
        }),
      );
      const started = await startSlipway('server', ['--config', file], {
        wrapper: commands.server ?? [],
        measuresMemory: true,
      });
      servers.add(started);
      void started.exited.then(() => servers.delete(started));
      const server = asServer(name, started);
      await server.untilServes('');
      return server;
    },
    publish: async () => {
      generation += 1;
      await writeFile(join(files, 'generation.txt'), `generation ${generation}\n`);
      const answer = await fetch(`${daemon.url}/v1/control/sync`, { method: 'POST' });
      if (answer.status !== 202) throw new Error(`sync: ${answer.status} ${await answer.text()}`);
    },
    stop: async () => {
      await Promise.all([daemon, ...servers].map(async (each) => await each.kill()));
    },
  };
}

function asServer(name: string, started: SlipwayProcess): SlipwayServer {
  const { url, pid } = started;
  let releaseId = '';
  const target = (path: string): string => `/${CDN_HOST}/${releaseId}/${path}`;
  return {
    name,
    pid,
    port: Number(new URL(url).port),
    target,
    // Probes are at the root; everything else is a file.
    url: (path) => (path.startsWith('/') ? `${url}${path}` : `${url}${target(path)}`),
    metric: async (metric) => await readMetric(started, metric),
    signal: (signal) => {
      started.signal(signal);
    },
    untilServes: async (other) => {
      releaseId = await until(
        async () => {
          const body = (await (await fetch(`${url}/readyz`)).json()) as {
            distributable: boolean;
            release_id: string | null;
          };
          return body.distributable && body.release_id !== other ? body.release_id : null;
        },
        READY_MS,
        LONGEST_PAUSE_MS,
      );
      return releaseId;
    },
    stop: async () => {
      await started.kill();
    },
  };
}

async function readMetric(started: SlipwayProcess, metric: string): Promise<number> {
  const text = await (await fetch(metricsUrl(started))).text();
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${metric} `) || line.startsWith(`${metric}{`))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

function metricsUrl({ lines }: SlipwayProcess): string {
  const line = lines.find((text) => /"(?:server|daemon) listening"/.test(text));
  if (line === undefined) throw new Error('the process has not said where its metrics are');
  return `${(JSON.parse(line) as { metrics_url: string }).metrics_url}/metrics`;
}
