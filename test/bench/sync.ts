import { execFile } from 'node:child_process';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { makeKeys } from '../support/make-keys.ts';
import { startSlipway } from '../support/process.ts';
import { benchRow, type BenchOptions, type BenchRow } from './bench-row.ts';
import { startManifestUpstream, type ManifestUpstream } from './manifest-upstream.ts';
import { median } from './statistics.ts';
import { PARALLEL_FSYNC, syncFiles } from './sync-files.ts';

/** Smallest allowed ratio to curl, b3sum and fsync. */
const MIN_RATIO = 0.9;

const execute = promisify(execFile);
const PARALLEL = 8;

/** Sync of a `manifest` upstream against `curl --parallel` of the same files, `b3sum` of the result and an fsync of each file. */
export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const fileCount = options.quick ? 500 : 5000;
  const corpus = await makeCorpus(
    join(options.workDirectory, 'sync'),
    fileCount,
    options.quick ? 2 ** 27 : 2 ** 31,
  );
  const rounds: Array<{ readonly slipway: number; readonly curl: CurlTimes }> = [];
  try {
    for (let round = -1; round < Math.min(options.rounds, 5); round += 1) {
      const directory = join(options.workDirectory, `round${round}`);
      const slipway = async (): Promise<number> => {
        await execute('sync');
        return await timeSlipway(corpus, join(directory, 'slipway'));
      };
      const first = round % 2 === 0 ? await slipway() : null;
      await execute('sync');
      const curl = await timeCurl(corpus, join(directory, 'curl'));
      const measured = { slipway: first ?? (await slipway()), curl };
      await rm(directory, { recursive: true });
      // The first pair warms the page cache for both.
      if (round >= 0) rounds.push(measured);
    }
  } finally {
    corpus.stop();
  }
  const middle = (figure: (each: (typeof rounds)[number]) => number): string =>
    median(rounds.map(figure)).toFixed(1);
  const note = `${fileCount} files; Slipway ${middle(({ slipway }) => slipway)} s with fsync, CRC-64 and attestation`;
  return [
    benchRow({
      name: 'sync of 2 GiB against curl --parallel, b3sum and fsync',
      rounds: rounds.map(({ slipway, curl }) => (curl.copied + curl.durable) / slipway),
      unit: 'ratio',
      bound: { atLeast: MIN_RATIO },
      judged: !options.quick,
      note: `${note}; curl, b3sum and an fsync a file, ${PARALLEL_FSYNC} at a time: ${middle(({ curl }) => curl.copied + curl.durable)} s`,
    }),
    benchRow({
      name: 'the same against curl --parallel and b3sum, which are not durable',
      rounds: rounds.map(({ slipway, curl }) => curl.copied / slipway),
      unit: 'ratio',
      note: `curl and b3sum ${middle(({ curl }) => curl.copied)} s`,
    }),
  ];
}

async function makeCorpus(directory: string, count: number, totalBytes: number): Promise<ManifestUpstream> {
  const corpus = await startManifestUpstream(directory);
  const random = createRandom(4242);
  const average = totalBytes / count;
  for (let i = 0; i < count; i += 1) {
    // From a tenth to nearly twice the average, so the mean stays.
    const bytes = random.bytes(Math.floor(average * (0.1 + (1.8 * random.below(1000)) / 999)));
    await corpus.put(`f${String(i).padStart(5, '0')}.bin`, bytes);
  }
  await corpus.publish('bench');
  return corpus;
}

/** Seconds. */
interface CurlTimes {
  /** Until curl and b3sum had ended. */
  readonly copied: number;
  /** Then, until every file was durable. */
  readonly durable: number;
}

async function timeCurl(corpus: ManifestUpstream, directory: string): Promise<CurlTimes> {
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
  const copied = performance.now();
  await syncFiles(directory);
  return { copied: (copied - started) / 1000, durable: (performance.now() - copied) / 1000 };
}

async function timeSlipway(corpus: ManifestUpstream, directory: string): Promise<number> {
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
