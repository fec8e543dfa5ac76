import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { findFreePorts } from '../../src/cli/dev/free-port.ts';
import { blockCount, blockSpan, hasBlockList } from '../../src/domain/blocks.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { blockListPath, objectPath } from '../../src/snapshot/layout.ts';
import { hasTool } from '../support/tools.ts';
import { until } from '../support/until.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { median } from './statistics.ts';

const execute = promisify(execFile);
const CONNECTIONS = 32;
const FILES = { '1k.bin': 1024, '16k.bin': 16_384, '256k.bin': 262_144, '100m.bin': 100 * 2 ** 20 } as const;

interface Case {
  readonly name: string;
  readonly file: keyof typeof FILES;
  readonly field?: 'range' | 'if-none-match';
  /** Smallest ratio of requests a second to nginx. */
  readonly target: number;
}

// HEAD is not among them: wrk waits for the body that Content-Length announces.
const CASES: readonly Case[] = [
  { name: '1 KB GET', file: '1k.bin', target: 1.3 },
  { name: '16 KB GET', file: '16k.bin', target: 1.1 },
  { name: '256 KB GET', file: '256k.bin', target: 1.6 },
  { name: '304', file: '1k.bin', field: 'if-none-match', target: 0.9 },
  { name: '64 KB range of 100 MB, hot', file: '100m.bin', field: 'range', target: 0.9 },
];

interface Peer {
  readonly base: string;
  readonly process: ChildProcess;
}

/** Resource bytes, metrics and verification on and no access log, against nginx with one worker; wrk on the other core. */
export async function run({ rounds, quick, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const directory = join(workDirectory, 'bytes');
  const missing = ['nginx', 'wrk', 'taskset'].filter((tool) => !hasTool(tool));
  if (missing.length > 0) {
    console.error(`bytes: left out, ${missing.join(', ')} not installed`);
    return [];
  }
  await writeObjects(directory);
  const peers: Peer[] = [];
  try {
    const nginx = await startNginx(directory);
    peers.push(nginx);
    const slipway = await startSlipway(directory);
    peers.push(slipway);
    const rows: BenchRow[] = [];
    for (const each of CASES) rows.push(await compare(each, { nginx, slipway }, { rounds, quick }));
    return rows;
  } finally {
    for (const peer of peers) peer.process.kill('SIGTERM');
  }
}

async function compare(
  each: Case,
  { nginx, slipway }: { readonly nginx: Peer; readonly slipway: Peer },
  { rounds, quick }: { readonly rounds: number; readonly quick: boolean },
): Promise<BenchRow> {
  const seconds = quick ? 1 : 2;
  const ratios: number[] = [];
  const ours: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const order = round % 2 === 0 ? [nginx, slipway] : [slipway, nginx];
    const rates = new Map<Peer, number>();
    for (const peer of order) rates.set(peer, await measure(peer, each, seconds));
    // The first round warms up.
    if (round === -1) continue;
    ours.push(rates.get(slipway) ?? Number.NaN);
    ratios.push((rates.get(slipway) ?? Number.NaN) / (rates.get(nginx) ?? Number.NaN));
  }
  const value = median(ratios);
  return {
    case: `bytes: ${each.name}`,
    value,
    unit: 'x nginx',
    target: `>= ${each.target}`,
    pass: quick || rounds < 5 ? null : value >= each.target,
    rounds: ratios,
    note: `${Math.round(median(ours))} requests/s; wrk, ${CONNECTIONS} connections`,
  };
}

async function measure({ base }: Peer, { file, field }: Case, seconds: number): Promise<number> {
  const url = `${base}/${file}`;
  const headers: Record<string, string> = {};
  if (field === 'range') headers['Range'] = 'bytes=1048576-1114111';
  if (field === 'if-none-match') {
    headers['If-None-Match'] = (await fetch(url, { method: 'HEAD' })).headers.get('etag') ?? '';
  }
  const answer = await fetch(url, { headers });
  await answer.arrayBuffer();
  const expected = field === 'range' ? 206 : field === undefined ? 200 : 304;
  if (answer.status !== expected) throw new Error(`${url} was answered ${answer.status}, not ${expected}`);
  const { stdout } = await execute('taskset', [
    '-c',
    '1',
    'wrk',
    '-t1',
    `-c${CONNECTIONS}`,
    `-d${seconds}s`,
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    url,
  ]);
  if (stdout.includes('Non-2xx') && field !== 'if-none-match')
    throw new Error(`wrk saw refusals:\n${stdout}`);
  return Number(/Requests\/sec:\s+([0-9.]+)/.exec(stdout)?.[1] ?? Number.NaN);
}

async function writeObjects(directory: string): Promise<void> {
  const root = join(directory, 'snapshot');
  const files = join(directory, 'www');
  await mkdir(files, { recursive: true });
  const entries = [];
  for (const [destination, size] of Object.entries(FILES)) {
    const bytes = randomBytes(size);
    const blake3 = blake3Hex(bytes);
    await mkdir(dirname(objectPath(root, blake3)), { recursive: true });
    await writeFile(objectPath(root, blake3), bytes);
    await writeFile(join(files, destination), bytes);
    const entry = {
      destination,
      size,
      blake3,
      crc64: '0',
      source: 'official',
      media_type: 'application/octet-stream',
    };
    if (!hasBlockList(size)) {
      entries.push(entry);
      continue;
    }
    const list = Buffer.concat(
      Array.from({ length: blockCount(size) }, (_, block) => {
        const { start, end } = blockSpan(block, size);
        return Buffer.from(blake3Hex(bytes.subarray(start, end)), 'hex');
      }),
    );
    await writeFile(blockListPath(root, blake3), list);
    entries.push({ ...entry, blocks: blake3Hex(list) });
  }
  await writeFile(join(directory, 'entries.json'), JSON.stringify(entries));
}

async function startNginx(directory: string): Promise<Peer> {
  const [port = 0] = await findFreePorts(1);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${directory}/tmp;`,
  );
  await chmod(dirname(directory), 0o755);
  const file = join(directory, 'nginx.conf');
  await writeFile(
    file,
    `${process.getuid?.() === 0 ? 'user root;' : ''} worker_processes 1; daemon off; pid ${directory}/nginx.pid; error_log ${directory}/nginx.log;
events { worker_connections 4096; }
http { access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 1000000000; keepalive_timeout 65; etag on;
${paths.join('\n')}
server { listen 127.0.0.1:${port} backlog=4096; root ${directory}/www; location / { expires 1y; add_header Cache-Control immutable; } } }
`,
  );
  const child = spawn('taskset', ['-c', '0', 'nginx', '-c', file], { stdio: 'inherit' });
  const base = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${base}/1k.bin`)).ok);
  return { base, process: child };
}

async function startSlipway(directory: string): Promise<Peer> {
  const program = join(import.meta.dirname, '../support/byte-server.ts');
  const child = spawn(
    'taskset',
    ['-c', '0', process.execPath, program, join(directory, 'snapshot'), join(directory, 'entries.json')],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { base: `http://127.0.0.1:${port}/cdn.example/r1`, process: child };
}
