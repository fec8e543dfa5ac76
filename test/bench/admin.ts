import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { stringify } from 'yaml';
import { makeKeys } from '../support/make-keys.ts';
import { startSlipway } from '../support/process.ts';
import { hasTool } from '../support/tools.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { requestHead, runWrk, startSocketsLoad } from './bytes/load.ts';
import { endChild, type Peer } from './bytes/peer.ts';
import { findPlacement, type Placement } from './bytes/placement.ts';
import { startSlipwaySite } from './bytes/slipway-site.ts';
import { medianOf, runPairedRounds, type PairedRounds } from './paired-rounds.ts';
import { median } from './statistics.ts';

const TOKEN = 'bench-admin-token-0001';
const AUTHORIZATION = { Authorization: `Bearer ${TOKEN}` };
const TASKS_PATH = '/admin/tasks';
const DAEMON_TASKS_PATH = '/v1/reports/task.list';
const READ_CONNECTIONS = 16;
/** Smallest ratio of requests a second to the peer. */
const READ_TARGET = 2.5;
const OPERATORS = 100;
/** Largest ratio of the byte path's p99 with the operators to that without. */
const POLLING_TARGET = 1.1;
const BYTE_LOAD = { connections: 32, requestsPerSecond: 2000, file: '16k.bin', bytes: 16 * 1024 } as const;

/** The admin surface: reads through the proxy against http-proxy-middleware, and what polling operators cost the bytes. */
export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const missing = ['wrk', 'taskset'].filter((tool) => !hasTool(tool));
  const placement = findPlacement();
  if (missing.length > 0 || placement === null) {
    console.error(
      `admin: left out, ${missing.length > 0 ? `${missing.join(', ')} not installed` : 'one processor only'}`,
    );
    return [];
  }
  const directory = join(options.workDirectory, 'admin');
  await mkdir(directory, { recursive: true });
  const tokenFile = join(directory, 'token');
  await writeFile(tokenFile, TOKEN);
  return [
    await compareReads(directory, tokenFile, placement, options),
    await comparePolling(directory, tokenFile, placement, options),
  ];
}

/** Both proxies on one processor, in front of the same backend. */
async function compareReads(
  directory: string,
  tokenFile: string,
  placement: Placement,
  { rounds, quick }: BenchOptions,
): Promise<BenchRow> {
  const running: Peer[] = [];
  try {
    const backend = await startChild('backend');
    running.push(backend);
    const theirs = await startChild('proxy', backend.url(''));
    running.push(theirs);
    const ours = await startAdminServer(directory, tokenFile, backend.url(''));
    running.push(ours);
    placement.place(ours.pid, 'one');
    placement.place(theirs.pid, 'one');
    const url = { ours: ours.url(TASKS_PATH), theirs: theirs.url(DAEMON_TASKS_PATH) };
    const measure = (side: keyof typeof url) => async (): Promise<number> => {
      const answer = await fetch(url[side], { headers: AUTHORIZATION });
      const bodyBytes = (await answer.arrayBuffer()).byteLength;
      if (answer.status !== 200) throw new Error(`${url[side]} was answered ${answer.status}`);
      const load = {
        url: url[side],
        connections: READ_CONNECTIONS,
        seconds: quick ? 1 : 2,
        fields: AUTHORIZATION,
        bodyBytes,
      };
      const { requests, seconds } = await runWrk(load, placement.client('one'));
      return requests / seconds;
    };
    const result = await runPairedRounds({
      rounds,
      quick,
      ours: measure('ours'),
      theirs: measure('theirs'),
    });
    const ratios = result.pairs.map((pair) => pair.ours / pair.theirs);
    const value = median(ratios);
    return {
      case: 'admin: read through the proxy',
      value,
      unit: 'x http-proxy-middleware on express',
      target: `>= ${READ_TARGET}`,
      pass: judge(result, quick, value >= READ_TARGET),
      rounds: ratios,
      note: `${Math.round(medianOf(result.pairs, 'ours', (rate) => rate))} requests/s; wrk, ${READ_CONNECTIONS} connections`,
      noisyRounds: result.noisyRounds,
    };
  } finally {
    for (const peer of running.toReversed()) await peer.stop();
  }
}

/**
 * The byte path at a steady rate, while a hundred operators poll the tasks once a second each: at the server, and at the
 * daemon itself, which takes the same of the processor that client and operators share.
 */
async function comparePolling(
  directory: string,
  tokenFile: string,
  placement: Placement,
  { rounds, quick }: BenchOptions,
): Promise<BenchRow> {
  const files = join(directory, 'files');
  await mkdir(files, { recursive: true });
  await writeFile(join(files, BYTE_LOAD.file), Buffer.alloc(BYTE_LOAD.bytes, 7));
  const site = await startSlipwaySite(join(directory, 'site'), files);
  try {
    const server = await site.startServer('operators', { admin: { tokenFiles: [tokenFile] } });
    placement.place(server.pid, 'one');
    // What it takes of the server's own processor would be the daemon's doing, not the admin surface's.
    placement.place(site.daemonPid, 'client');
    const seconds = quick ? 2 : 5;
    const client = placement.client('one');
    const pollingOf = async (url: string): Promise<Parameters<typeof startSocketsLoad>[0]> => ({
      port: Number(new URL(url).port),
      connections: OPERATORS,
      seconds: seconds * 4,
      heads: [requestHead('GET', url, AUTHORIZATION)],
      status: 200,
      bodyBytes: (await (await fetch(url, { headers: AUTHORIZATION })).arrayBuffer()).byteLength,
      requestsPerSecond: OPERATORS,
    });
    const polling = {
      server: await pollingOf(server.url(TASKS_PATH)),
      daemon: await pollingOf(site.daemonUrl + DAEMON_TASKS_PATH),
    };
    const measureBytes = async (): Promise<number> => {
      const { p99Milliseconds } = await startSocketsLoad(
        {
          port: server.port,
          connections: BYTE_LOAD.connections,
          seconds,
          heads: [requestHead('GET', server.url(BYTE_LOAD.file))],
          status: 200,
          bodyBytes: BYTE_LOAD.bytes,
          requestsPerSecond: BYTE_LOAD.requestsPerSecond,
        },
        // It shares its processor with the operators and the daemon and must measure the server, not the wait for these.
        ['nice', '-n', '-15', ...client],
      ).result;
      return p99Milliseconds ?? Number.NaN;
    };
    const measurePolled = (at: keyof typeof polling) => async (): Promise<number> => {
      const operators = startSocketsLoad(polling[at], client);
      const p99 = await measureBytes();
      await operators.end();
      return p99;
    };
    const result = await runPairedRounds({
      rounds,
      quick,
      ours: measurePolled('server'),
      theirs: measurePolled('daemon'),
    });
    const ratios = result.pairs.map((pair) => pair.ours / pair.theirs);
    const value = median(ratios);
    const p99 = (side: 'ours' | 'theirs'): string => medianOf(result.pairs, side, (each) => each).toFixed(2);
    return {
      case: `admin: p99 of bytes while ${OPERATORS} operators poll tasks`,
      value,
      unit: 'x the same at the daemon itself',
      target: `<= ${POLLING_TARGET}`,
      pass: judge(result, quick, value <= POLLING_TARGET),
      rounds: ratios,
      note: `${p99('ours')} ms against ${p99('theirs')} ms at ${BYTE_LOAD.requestsPerSecond} requests/s of ${BYTE_LOAD.file}`,
      noisyRounds: result.noisyRounds,
    };
  } finally {
    await site.stop();
  }
}

function judge(result: PairedRounds<number>, quick: boolean, good: boolean): boolean | null {
  return quick || !result.isConclusive ? null : good;
}

async function startChild(kind: 'backend' | 'proxy', ...args: readonly string[]): Promise<Peer> {
  const program = join(import.meta.dirname, 'admin/admin-peer-child.ts');
  const child = spawn(process.execPath, [program, kind, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // express looks at it; nobody runs it as in development.
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const [port] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return {
    name: kind,
    pid: child.pid ?? -1,
    url: (path) => `http://127.0.0.1:${port}${path}`,
    stop: async () => {
      await endChild(child);
    },
  };
}

/** The real server in front of a backend; it has no release, which the admin surface does not need. */
async function startAdminServer(directory: string, tokenFile: string, daemonUrl: string): Promise<Peer> {
  const keys = join(directory, 'keys');
  const snapshot = join(directory, 'empty-snapshot');
  await mkdir(snapshot, { recursive: true });
  await makeKeys(keys);
  const file = join(directory, 'server.yaml');
  await writeFile(
    file,
    stringify({
      listen: { host: '127.0.0.1', port: 0 },
      metrics: { host: '127.0.0.1', port: 0 },
      publicBaseUrl: 'https://resources.bench.invalid',
      snapshot: { root: snapshot },
      daemon: { url: daemonUrl },
      attestation: { publicKeyFiles: [join(keys, 'signing.pub')] },
      admin: { tokenFiles: [tokenFile] },
      shutdown: { propagationDelaySeconds: 0 },
      log: { access: 'none' },
    }),
  );
  const started = await startSlipway('server', ['--config', file]);
  return {
    name: 'slipway',
    pid: started.pid,
    url: (path) => `${started.url}${path}`,
    stop: async () => {
      await started.kill();
    },
  };
}
