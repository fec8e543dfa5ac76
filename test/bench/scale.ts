import { once } from 'node:events';
import { readFile, mkdir, writeFile } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { findFreePorts } from '../../demo/free-port.ts';
import { makeKeys } from '../support/make-keys.ts';
import { LARGE_UPSTREAM_FILM, startLargeUpstream } from '../support/large-upstream.ts';
import { startSlipway, type SlipwayProcess } from '../support/process.ts';
import { benchRow, type BenchOptions, type BenchRow } from './bench-row.ts';
import { largest, quantile } from './statistics.ts';

const MIB = 1024 * 1024;
const CDN_HOST = 'cdn.bench.invalid';
/** The budget of the server's block cache, MiB, and the data that fills it. */
const CACHE_MIB = 256;
const FILM_MIB = 300;

/** Memory of both processes and the longest stall of a request, with a release of 200,000 entries and its successor. */
export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const entryCount = options.quick ? 10_000 : 200_000;
  const upstream = await startLargeUpstream(entryCount, FILM_MIB);
  const directory = join(options.workDirectory, 'scale');
  const { daemon, server } = await startPair(directory, upstream.url);
  try {
    await syncAndWait(daemon, server, 'scale-1');
    const resting = await measureRequests(
      server,
      async () => await new Promise((resolve) => setTimeout(resolve, 3000)),
    );
    const serverResting = await memory(server.pid, 'VmRSS');
    await fillCache(server);
    const serverFull = await memory(server.pid, 'VmRSS');
    upstream.publish(2);
    const switching = await measureRequests(server, async () => await syncAndWait(daemon, server, 'scale-2'));
    const daemonPeak = await memory(daemon.pid, 'VmHWM');
    const serverNow = await memory(server.pid, 'VmRSS');
    const note = `${entryCount} entries`;
    return [
      bounded('daemon peak RSS after two syncs', daemonPeak / MIB, 'MiB', 200, note),
      bounded(
        'server RSS with a release and its block cache full',
        serverFull / MIB,
        'MiB',
        120 + CACHE_MIB,
        `${note}; the scrub runs; ${(serverResting / MIB).toFixed(0)} MiB before the cache was filled`,
      ),
      benchRow({
        name: 'server RSS with its predecessor as well',
        rounds: [serverNow / MIB],
        unit: 'MiB',
        note: `${2 * entryCount} entries in two manifests; the block cache is full`,
      }),
      bounded(
        'longest stall of a request while the release switches',
        switching.longestSwitch,
        'ms',
        30,
        `${note}; at rest ${resting.longest.toFixed(1)} ms`,
      ),
      bounded(
        'p99 of a request during sync and switch',
        switching.p99 / resting.p99,
        'x at rest',
        1.5,
        `${switching.p99.toFixed(2)} ms against ${resting.p99.toFixed(2)} ms; daemon, upstream and client share the cores`,
      ),
    ];
  } finally {
    await Promise.all([daemon.kill(), server.kill()]);
    upstream.stop();
  }
}

function bounded(name: string, value: number, unit: string, limit: number, note: string): BenchRow {
  return benchRow({ name, rounds: [value], unit, bound: { atMost: limit }, note });
}

async function startPair(
  directory: string,
  url: string,
): Promise<{ daemon: SlipwayProcess; server: SlipwayProcess }> {
  await mkdir(join(directory, 'snapshot'), { recursive: true });
  await makeKeys(join(directory, 'keys'));
  const daemonFile = join(directory, 'daemon.yaml');
  await writeFile(
    daemonFile,
    stringify({
      listen: { host: '127.0.0.1', port: 0 },
      snapshot: { root: join(directory, 'snapshot') },
      data: { dir: join(directory, 'data') },
      requireToken: false,
      attestation: { signingKeyFiles: [join(directory, 'keys/signing.key')] },
      upstream: { kind: 'manifest', manifest: { url }, concurrency: 16 },
      sync: { onStart: false },
    }),
  );
  const daemon = await startSlipway('daemon', ['--config', daemonFile], { measuresMemory: true });
  const [port = 0, metricsPort = 0] = await findFreePorts(2);
  const serverFile = join(directory, 'server.yaml');
  await writeFile(
    serverFile,
    stringify({
      listen: { host: '127.0.0.1', port },
      metrics: { host: '127.0.0.1', port: metricsPort },
      publicBaseUrl: `http://127.0.0.1:${port}`,
      cdn: { host: CDN_HOST },
      snapshot: { root: join(directory, 'snapshot') },
      daemon: { url: daemon.url },
      attestation: { publicKeyFiles: [join(directory, 'keys/signing.pub')] },
      shutdown: { propagationDelaySeconds: 0 },
      log: { level: 'warn' },
    }),
    // The log line with the address is at level info. The level above is only for requests.
  );
  const server = await startSlipway('server', ['--config', serverFile, '--log.level=info'], {
    measuresMemory: true,
  });
  return { daemon, server };
}

async function syncAndWait(
  daemon: SlipwayProcess,
  server: SlipwayProcess,
  releaseId: string,
): Promise<number> {
  await fetch(`${daemon.url}/v1/control/sync`, { method: 'POST' });
  for (;;) {
    const body = (await (await fetch(`${server.url}/readyz`)).json()) as {
      distributable: boolean;
      release_id: string;
    };
    if (body.distributable && body.release_id === releaseId) return performance.now();
    const tasks = (await (await fetch(`${daemon.url}/v1/reports/task.list`)).json()) as {
      items: Array<{ kind: string; status: string; failure_reason: string | null }>;
    };
    const newest = tasks.items.find((task) => task.kind === 'sync');
    if (newest?.status === 'failed') throw new Error(`the sync failed: ${newest.failure_reason ?? ''}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
  }
}

/** Downloads more than the cache holds, often enough to fill it. */
async function fillCache(server: SlipwayProcess): Promise<void> {
  for (let download = 0; download < 3; download += 1) {
    const answer = await fetch(`${server.url}/${CDN_HOST}/scale-1/${LARGE_UPSTREAM_FILM}`);
    if (answer.status !== 200 || answer.body === null) throw new Error(`the film is ${answer.status}`);
    let bytes = 0;
    for await (const chunk of answer.body) bytes += chunk.length;
    if (bytes !== FILM_MIB * MIB) throw new Error(`the film has ${bytes} bytes`);
  }
}

interface Latencies {
  readonly p99: number;
  readonly longest: number;
  /** Longest request within two seconds before the switch was noticed. */
  readonly longestSwitch: number;
}

async function measureRequests(server: SlipwayProcess, work: () => Promise<unknown>): Promise<Latencies> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const samples: Array<{ at: number; ms: number }> = [];
  const finished = new AbortController();
  const loop = (async () => {
    while (!finished.signal.aborted) {
      const started = performance.now();
      await request(`${server.url}/healthz`, agent);
      samples.push({ at: started, ms: performance.now() - started });
    }
  })();
  await work();
  const switchedAt = performance.now();
  finished.abort();
  await loop;
  agent.destroy();
  const around = samples.filter((sample) => sample.at > switchedAt - 2000);
  const all = samples.map((sample) => sample.ms);
  return {
    p99: quantile(all, 0.99),
    longest: largest(all),
    longestSwitch: largest(around.map((sample) => sample.ms)),
  };
}

async function request(url: string, agent: Agent): Promise<void> {
  const [response] = (await once(get(url, { agent }), 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
}

async function memory(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
}
