import { join } from 'node:path';
import { writeTextRelease, type TextReleaseCounts } from '../support/text-release.ts';
import { hasTool } from '../support/tools.ts';
import { benchRow, type BenchOptions, type BenchRow, type Bound } from './bench-row.ts';
import { CHART_DAEMON, findPlacement } from './bytes/placement.ts';
import { startSlipwaySite, type SlipwaySite } from './bytes/slipway-site.ts';
import { startIdleProcess } from './idle-process.ts';
import { resultOfTask, startJob } from './run-task.ts';
import { startSampling, type Samples } from './site-samples.ts';
import { largest, median } from './statistics.ts';
import { createWindowP99, REQUESTS_PER_SECOND } from './window-p99.ts';

const MIB = 2 ** 20;
/** A small file of the release; its bytes are compared by their number. */
const FILE = 'json/000004.json';

/** The result of one run of a job. */
interface Run extends Samples {
  readonly seconds: number;
  readonly parsed: number;
  readonly units: number;
  /** The 99th percentile in milliseconds of each window of requests that began during the run. */
  readonly p99s: readonly number[];
}

/**
 * A release of a million units in bundles, archives, JSON and CSV, indexed by a real daemon: rate, memory, stalls of its event
 * loop, and the latency of a server beside it.
 */
export async function run({ quick, rounds, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const placement = hasTool('taskset') ? findPlacement() : null;
  if (placement === null) {
    console.error('parse-release: left out, it needs taskset and two processors');
    return [];
  }
  const directory = join(workDirectory, 'parse-release');
  const files = join(directory, 'files');
  const counts = await writeTextRelease(files, {
    containers: quick ? 80 : 8000,
    units: quick ? 10_000 : 1_000_000,
  });
  const site = await startSlipwaySite(
    join(directory, 'slipway'),
    files,
    { parse: { automatic: false } },
    { daemon: CHART_DAEMON },
  );
  try {
    const server = await site.startServer('serving');
    const idle = await startIdleProcess();
    await site.daemonMetric('nodejs_eventloop_lag_max_seconds');
    const first = await runJob(site, 'parse');
    const stall = {
      daemon: await site.daemonMetric('nodejs_eventloop_lag_max_seconds'),
      idle: await idle.stop(),
    };
    check(first, counts);
    const unchanged: number[] = [];
    for (let round = 0; round < rounds; round += 1) unchanged.push((await runJob(site, 'parse')).seconds);
    const p99 = await createWindowP99(server, placement, FILE);
    const resting = [await p99(), await p99(), await p99()];
    const working = await runJob(site, 'parse-full', p99);
    resting.push(await p99(), await p99(), await p99());
    return rowsOf({ quick, counts, first, unchanged, stall, resting, working });
  } finally {
    await site.stop();
  }
}

function rowsOf({
  quick,
  counts,
  first,
  unchanged,
  stall,
  resting,
  working,
}: {
  readonly quick: boolean;
  readonly counts: TextReleaseCounts;
  readonly first: Run;
  readonly unchanged: readonly number[];
  /** Of the event loops of the daemon and of an idle process, in seconds. */
  readonly stall: { readonly daemon: number; readonly idle: number };
  readonly resting: readonly number[];
  readonly working: Run;
}): BenchRow[] {
  const size = `${counts.units} units in ${counts.containers} containers`;
  const row = (name: string, values: readonly number[], unit: string, limit: Bound, note: string): BenchRow =>
    benchRow({ name: `parse a release: ${name}`, rounds: values, unit, bound: limit, judged: !quick, note });
  const micros = (seconds: number): string => `${((seconds * 1e6) / counts.units).toFixed(1)} µs`;
  const milliseconds = (seconds: number): string => `${(seconds * 1000).toFixed(0)} ms`;
  const runs = [first, working];
  return [
    row(
      'full index, one process',
      [first.units / first.seconds],
      'units/s',
      { atLeast: 60_000 },
      `${size}; ${first.seconds.toFixed(1)} s; processor time of a unit: ${micros(first.childSeconds)} in the process that parses, ${micros(first.daemonSeconds)} in the daemon`,
    ),
    row(
      'unchanged release against the first',
      unchanged.map((seconds) => first.seconds / seconds),
      'x faster',
      { atLeast: 20 },
      `${median(unchanged).toFixed(2)} s`,
    ),
    row(
      'memory of the daemon',
      [largest(runs.map(({ daemonBytes }) => daemonBytes)) / MIB],
      'MiB RSS',
      { atMost: 300 },
      'largest of a sample every 100 ms, with the thread of the index',
    ),
    row(
      'memory of the process that parses',
      [largest(runs.map(({ childBytes }) => childBytes)) / MIB],
      'MiB RSS',
      { atMost: 1024 },
      'its bound is parse.memoryMebibytes',
    ),
    row(
      "longest stall of the daemon's event loop, beyond that of an idle process",
      [Math.max(0, stall.daemon - stall.idle) * 1000],
      'ms',
      { atMost: 50 },
      `during the first run: ${milliseconds(stall.daemon)} against ${milliseconds(stall.idle)}; the timers have a resolution of 10 ms`,
    ),
    row(
      'p99 of a GET beside it',
      [median(working.p99s) / median(resting)],
      'x at rest',
      { atMost: 2 },
      `sockets client, ${REQUESTS_PER_SECOND} requests/s of 10 KB; ${median(working.p99s).toFixed(2)} ms in ${working.p99s.length} windows against ${median(resting).toFixed(2)} ms; the server, the daemon, the parser and the client share the processors`,
    ),
  ];
}

function check({ parsed, units }: Run, counts: TextReleaseCounts): void {
  if (parsed !== counts.containers || units !== counts.units) {
    throw new Error(`the index has ${units} units of ${parsed} containers, not ${JSON.stringify(counts)}`);
  }
}

/** Runs a job of the parse index to its end. While it runs, `measure` is called repeatedly. */
async function runJob(
  site: SlipwaySite,
  action: 'parse' | 'parse-full',
  measure: (() => Promise<number>) | null = null,
): Promise<Run> {
  const taskId = await startJob(site, action);
  const sampling = startSampling(site.daemonPid);
  const p99s: number[] = [];
  const ending = new AbortController();
  const measuring = (async () => {
    if (measure === null) return;
    do p99s.push(await measure());
    while (!ending.signal.aborted);
  })();
  const result = await resultOfTask<Pick<Run, 'parsed' | 'seconds' | 'units'>>(site, taskId);
  ending.abort();
  const samples = await sampling.stop();
  await measuring;
  return { ...result, ...samples, p99s };
}
