import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { findFreePorts } from '../../demo/free-port.ts';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { makeKeys } from '../support/make-keys.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { startSlipway } from '../support/process.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { median } from './statistics.ts';

/** Smallest allowed ratio to curl and b3sum. */
const MIN_RATIO = 0.9;

const execute = promisify(execFile);
const PARALLEL = 8;
/** How long nginx may take to start. */
const START_MS = 10_000;

interface Corpus {
  readonly url: string;
  readonly names: readonly string[];
  stop(): void;
}

/** Sync of a `manifest` upstream against `curl --parallel` of the same files and `b3sum` of the result. */
export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const fileCount = options.quick ? 500 : 5000;
  const corpus = await makeCorpus(
    join(options.workDirectory, 'sync'),
    fileCount,
    options.quick ? 2 ** 27 : 2 ** 31,
  );
  const ratios: number[] = [];
  const ours: number[] = [];
  const theirs: number[] = [];
  try {
    for (let round = -1; round < Math.min(options.rounds, 5); round += 1) {
      const directory = join(options.workDirectory, `round${round}`);
      const measure = [
        async (): Promise<number> => await timeSlipway(corpus, join(directory, 'slipway')),
        async (): Promise<number> => await timeCurl(corpus, join(directory, 'curl')),
      ];
      const seconds = [0, 0];
      for (const index of round % 2 === 0 ? [0, 1] : [1, 0]) {
        await execute('sync');
        seconds[index] = (await measure[index]?.()) ?? Number.NaN;
      }
      await rm(directory, { recursive: true });
      const [slipway = Number.NaN, curl = Number.NaN] = seconds;
      // The first pair warms the page cache for both.
      if (round < 0) continue;
      ours.push(slipway);
      theirs.push(curl);
      ratios.push(curl / slipway);
    }
  } finally {
    corpus.stop();
  }
  const value = median(ratios);
  const note = `${fileCount} files; Slipway ${median(ours).toFixed(1)} s with fsync, CRC-64 and attestation; curl + b3sum ${median(theirs).toFixed(1)} s`;
  return [
    {
      case: 'sync of 2 GiB against curl --parallel + b3sum',
      value,
      unit: 'ratio',
      target: `>= ${MIN_RATIO}`,
      pass: value >= MIN_RATIO,
      rounds: ratios,
      note,
    },
  ];
}

async function makeCorpus(directory: string, count: number, totalBytes: number): Promise<Corpus> {
  const files = join(directory, 'files');
  await mkdir(files, { recursive: true });
  const random = createRandom(4242);
  const names: string[] = [];
  const entries: object[] = [];
  const average = totalBytes / count;
  for (let i = 0; i < count; i += 1) {
    const name = `f${String(i).padStart(5, '0')}.bin`;
    // From a tenth to nearly twice the average, so the mean stays.
    const bytes = random.bytes(Math.floor(average * (0.1 + (1.8 * random.below(1000)) / 999)));
    await writeFile(join(files, name), bytes);
    names.push(name);
    entries.push({ destination: name, size: bytes.length, digests: { blake3: blake3Hex(bytes) } });
  }
  await writeFile(join(files, 'release.json'), JSON.stringify({ release_id: 'bench', entries }));
  const [port = 0] = await findFreePorts(1);
  const configuration = join(directory, 'nginx.conf');
  await writeFile(
    configuration,
    `${userLine()}worker_processes 1; daemon off; pid ${directory}/nginx.pid; error_log ${directory}/error.log;
events { worker_connections 1024; }
http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  client_body_temp_path ${directory}/b; proxy_temp_path ${directory}/p; fastcgi_temp_path ${directory}/f; uwsgi_temp_path ${directory}/u; scgi_temp_path ${directory}/s;
  server { listen 127.0.0.1:${port}; root ${files}; } }`,
  );
  const nginx = spawn('nginx', ['-p', directory, '-c', configuration], { stdio: 'ignore' });
  await once(nginx, 'spawn');
  const url = `http://127.0.0.1:${port}`;
  try {
    await untilServed(`${url}/release.json`);
  } catch (error) {
    nginx.kill('SIGTERM');
    throw error;
  }
  return { url, names, stop: () => nginx.kill('SIGTERM') };
}

/** When root starts nginx, it would run as `nobody`, which may not read the working directory. */
function userLine(): string {
  return process.getuid?.() === 0 ? 'user root; ' : '';
}

async function untilServed(url: string): Promise<void> {
  const deadline = performance.now() + START_MS;
  for (;;) {
    const answer = await fetch(url, { method: 'HEAD' }).catch(() => null);
    if (answer?.ok === true) return;
    if (performance.now() > deadline) {
      throw new Error(
        `nginx does not serve ${url}: ${answer === null ? 'no answer' : `status ${answer.status}`}`,
      );
    }
    await setTimeout(50);
  }
}

async function timeCurl(corpus: Corpus, directory: string): Promise<number> {
  await mkdir(directory, { recursive: true });
  const list = join(directory, '..', 'curl.txt');
  const handle = await open(list, 'w');
  for (const name of corpus.names)
    await handle.write(`url = "${corpus.url}/${name}"\noutput = "${directory}/${name}"\n`);
  await handle.close();
  const started = performance.now();
  await execute('curl', ['-sS', '--fail', '--parallel', '--parallel-max', String(PARALLEL), '-K', list]);
  await execute(
    'b3sum',
    corpus.names.map((name) => join(directory, name)),
    { maxBuffer: 2 ** 24 },
  );
  return (performance.now() - started) / 1000;
}

async function timeSlipway(corpus: Corpus, directory: string): Promise<number> {
  await mkdir(join(directory, 'snapshot'), { recursive: true });
  await makeKeys(join(directory, 'keys'));
  const configuration = join(directory, 'daemon.yaml');
  await writeFile(
    configuration,
    stringify({
      listen: { host: '127.0.0.1', port: 0 },
      snapshot: { root: join(directory, 'snapshot') },
      data: { dir: join(directory, 'data') },
      requireToken: false,
      attestation: { signingKeyFiles: [join(directory, 'keys/signing.key')] },
      upstream: { kind: 'manifest', manifest: { url: `${corpus.url}/` }, concurrency: PARALLEL },
      sync: { onStart: false },
    }),
  );
  const daemon = await startSlipway('daemon', ['--config', configuration], { measuresMemory: true });
  const started = performance.now();
  const accepted = await fetch(`${daemon.url}/v1/control/sync`, { method: 'POST' });
  const { task_id } = (await accepted.json()) as { task_id: string };
  for (;;) {
    const answer = await fetch(`${daemon.url}/v1/reports/task.status?task_id=${task_id}`);
    const { task } = (await answer.json()) as { task: { status: string; failure_reason: string | null } };
    if (task.status === 'succeeded') break;
    if (task.status === 'failed') throw new Error(`the sync failed: ${task.failure_reason ?? ''}`);
    await setTimeout(50);
  }
  const seconds = (performance.now() - started) / 1000;
  await daemon.stop();
  return seconds;
}
