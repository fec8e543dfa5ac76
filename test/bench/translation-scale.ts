import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { writeTextRelease } from '../support/text-release.ts';
import { hasTool } from '../support/tools.ts';
import { until } from '../support/until.ts';
import { askSite } from './ask-site.ts';
import { benchRow, type BenchOptions, type BenchRow } from './bench-row.ts';
import { CHART_DAEMON, findPlacement } from './bytes/placement.ts';
import { startSlipwaySite, type SlipwaySite } from './bytes/slipway-site.ts';
import { startIdleProcess } from './idle-process.ts';
import { createRandom, sentenceOf } from './japanese-texts.ts';
import { loadRecords } from './load-records.ts';
import { recordOf } from './memory.ts';
import { writePrepared } from './prepared-translations.ts';
import { startSampling } from './site-samples.ts';
import { largest, median } from './statistics.ts';
import { createWindowP99, REQUESTS_PER_SECOND } from './window-p99.ts';

const MIB = 2 ** 20;
/** A small file of the release. */
const FILE = 'json/000004.json';
/** The largest file of JSON; it has 2.5 % of the units. */
const LARGE_FILE = 'json/000000.json';
const LONGEST_BUILD_MS = 900_000;
const WORKERS = 2;
const WINDOWS = 5;
/** Reads by which pages are compared, and entries of a page. */
const PAGE_READS = 9;
const PAGE_ENTRIES = 1000;
/** Share of the units that are before the page at the end. */
const FAR = 0.9;

interface Size {
  readonly containers: number;
  readonly units: number;
  readonly records: number;
  /** Units with a prepared translation; more than the workers translate meanwhile. */
  readonly prepared: number;
}

/** The measurements while a run of workers translates and reports are read. */
interface Working {
  readonly p99s: readonly number[];
  readonly stallSeconds: number;
  readonly idleSeconds: number;
  readonly bytes: number;
  readonly reads: number;
  readonly translated: number;
}

/** The times of a page, in milliseconds. */
interface PageTimes {
  readonly name: string;
  readonly near: number;
  readonly far: number;
}

/** A real daemon with a million units in tasks and a million Translation Memory records, at work, with a server beside it. */
export async function run({ quick, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const placement = hasTool('taskset') ? findPlacement() : null;
  if (placement === null) {
    console.error('translation-scale: left out, it needs taskset and two processors');
    return [];
  }
  const size: Size = quick
    ? { containers: 80, units: 10_000, records: 2000, prepared: 2000 }
    : { containers: 8000, units: 1_000_000, records: 1_000_000, prepared: 60_000 };
  const directory = join(workDirectory, 'translation-scale');
  const [files, slipway] = [join(directory, 'files'), join(directory, 'slipway')];
  const data = join(slipway, 'data');
  await writeTextRelease(files, size);
  await fillMemory(data, size.records);
  const site = await startSlipwaySite(slipway, files, {}, { daemon: CHART_DAEMON });
  try {
    const building = [await waitWhileBuilding(site, 1)];
    const server = await site.startServer('serving');
    await writePrepared(site, join(data, 'fixtures'), size.prepared);
    const pages = await comparePages(site, size);
    const p99 = await createWindowP99(server, placement, FILE);
    const resting = await windows(p99);
    const working = await measureWork(site, size, p99);
    resting.push(...(await windows(p99)));
    await site.publish();
    building.push(await waitWhileBuilding(site, 2));
    return rowsOf({ quick, size, building, pages, resting, working });
  } finally {
    await site.stop();
  }
}

/** Writes the main file of the Translation Memory, before the daemon opens it. */
async function fillMemory(data: string, records: number): Promise<void> {
  await mkdir(data, { recursive: true, mode: 0o700 });
  loadRecords(join(data, 'memory.db'), { count: records, recordOf, isTrusted: () => false });
}

/**
 * Waits until the tasks are built.
 *
 * @param builds builds that end, with those before
 * @returns the longest wait for a report of tasks meanwhile, in milliseconds
 */
async function waitWhileBuilding(site: SlipwaySite, builds: number): Promise<number> {
  let longest = 0;
  await until(async () => {
    const begin = performance.now();
    await askSite(site, 'reports/translation.tasks?limit=1');
    longest = Math.max(longest, performance.now() - begin);
    const { items } = (await askSite(site, 'reports/task.list')) as {
      items: { kind: string; status: string }[];
    };
    const done = items.filter(({ kind }) => kind === 'task-build').map(({ status }) => status);
    if (done.includes('failed')) throw new Error('the tasks were not built');
    return done.filter((status) => status === 'succeeded').length >= builds;
  }, LONGEST_BUILD_MS);
  return longest;
}

async function comparePages(site: SlipwaySite, { units }: Size): Promise<PageTimes[]> {
  const { total } = await unitsPage(site, { destination: LARGE_FILE, limit: '1' });
  return [
    await compare(site, 'all units', {}, units),
    await compare(site, 'one destination', { destination: LARGE_FILE }, total),
    await compare(site, 'a pattern of destinations', { path_pattern: '*/*' }, units),
  ];
}

async function compare(
  site: SlipwaySite,
  name: string,
  filter: Readonly<Record<string, string>>,
  total: number,
): Promise<PageTimes> {
  const limit = Math.min(PAGE_ENTRIES, Math.floor(total / 20));
  const [near, far]: [number[], number[]] = [[], []];
  // In turns, so that a busy machine slows both.
  for (let read = 0; read < PAGE_READS; read += 1) {
    for (const [times, offset] of [
      [near, 0],
      [far, Math.floor(total * FAR)],
    ] as const) {
      const begin = performance.now();
      const { items } = await unitsPage(site, { ...filter, offset: `${offset}`, limit: `${limit}` });
      times.push(performance.now() - begin);
      if (items.length !== limit)
        throw new Error(`${name}: ${items.length} units at ${offset}, not ${limit}`);
    }
  }
  return { name, near: median(near), far: median(far) };
}

interface UnitsPage {
  readonly total: number;
  readonly items: readonly object[];
}

async function unitsPage(site: SlipwaySite, query: Readonly<Record<string, string>>): Promise<UnitsPage> {
  return (await askSite(
    site,
    `reports/parse.text_units?${new URLSearchParams(query).toString()}`,
  )) as UnitsPage;
}

async function windows(p99: () => Promise<number>): Promise<number[]> {
  const values: number[] = [];
  for (let at = 0; at < WINDOWS; at += 1) values.push(await p99());
  return values;
}

/** Measures while workers translate and reports are read one after the other. */
async function measureWork(site: SlipwaySite, size: Size, p99: () => Promise<number>): Promise<Working> {
  const idle = await startIdleProcess();
  await site.daemonMetric('nodejs_eventloop_lag_max_seconds');
  const { task_id: taskId } = (await askSite(site, 'control/translation-worker-run', {
    provider: 'fixture',
    fixture_path: 'bench.jsonl',
    concurrency: WORKERS,
    max_tasks: 1_000_000,
  })) as { task_id: string };
  const sampling = startSampling(site.daemonPid);
  const reading = startReading(site, size);
  const p99s = await windows(p99);
  const reads = await reading.stop();
  const stallSeconds = await site.daemonMetric('nodejs_eventloop_lag_max_seconds');
  const idleSeconds = await idle.stop();
  const { task } = (await askSite(site, `reports/task.status?task_id=${taskId}`)) as {
    task: { status: string; progress: { done: number } | null };
  };
  // Work that ended early, or failed, was not measured.
  if (size.units > 100_000 && task.status !== 'running') throw new Error(`the run ${task.status} too early`);
  if (task.status === 'running') await askSite(site, 'control/task-cancel', { task_id: taskId });
  const { daemonBytes } = await sampling.stop();
  return { p99s, stallSeconds, idleSeconds, bytes: daemonBytes, reads, translated: task.progress?.done ?? 0 };
}

/** Reads pages of units and of tasks and queries the Translation Memory, one after the other. */
function startReading(site: SlipwaySite, { units, records }: Size): { stop(): Promise<number> } {
  const random = createRandom(3);
  const ending = new AbortController();
  const reading = (async () => {
    let reads = 0;
    while (!ending.signal.aborted) {
      const source = encodeURIComponent(`変${sentenceOf(Math.floor(random() * records)).slice(1)}`);
      await askSite(site, `reports/parse.text_units?limit=100&offset=${Math.floor(random() * units)}`);
      await askSite(site, `reports/translation.tasks?limit=100&offset=${Math.floor(random() * 1000)}`);
      await askSite(site, `reports/translation.memory.query?limit=10&source_text=${source}`);
      reads += 3;
    }
    return reads;
  })();
  return {
    stop: async () => {
      ending.abort();
      return await reading;
    },
  };
}

function rowsOf({
  quick,
  size,
  building,
  pages,
  resting,
  working,
}: {
  readonly quick: boolean;
  readonly size: Size;
  /** The longest wait in milliseconds, while the tasks of the first and of the second release were built. */
  readonly building: readonly number[];
  readonly pages: readonly PageTimes[];
  readonly resting: readonly number[];
  readonly working: Working;
}): BenchRow[] {
  const row = (name: string, value: number, unit: string, atMost: number, note: string): BenchRow =>
    benchRow({
      name: `translation at scale: ${name}`,
      rounds: [value],
      unit,
      bound: { atMost },
      judged: !quick,
      note,
    });
  const { p99s, bytes, stallSeconds, idleSeconds, reads, translated } = working;
  const milliseconds = (seconds: number): string => `${(seconds * 1000).toFixed(0)} ms`;
  return [
    row(
      'longest wait for a page of tasks while they are built',
      largest(building),
      'ms',
      2500,
      `${building.map((wait) => wait.toFixed(0)).join(' ms for the first release, ')} ms for the second, with its targets carried over`,
    ),
    row(
      'memory of the daemon',
      bytes / MIB,
      'MiB RSS',
      350,
      `largest of a sample every 100 ms; ${size.units} units and ${size.records} records; ${translated} units translated and ${reads} reports read meanwhile`,
    ),
    row(
      "longest stall of the daemon's event loop, beyond that of an idle process",
      Math.max(0, stallSeconds - idleSeconds) * 1000,
      'ms',
      50,
      `${milliseconds(stallSeconds)} against ${milliseconds(idleSeconds)}; the timers have a resolution of 10 ms`,
    ),
    row(
      'p99 of a GET beside it',
      median(p99s) / median(resting),
      'x at rest',
      2,
      `sockets client, ${REQUESTS_PER_SECOND} requests/s; ${median(p99s).toFixed(2)} ms against ${median(resting).toFixed(2)} ms`,
    ),
    ...pages.map(({ name, near, far }) =>
      row(
        `page of units at ${FAR * 100} % of ${name}`,
        far / near,
        'x the first page',
        1.5,
        `${far.toFixed(1)} ms against ${near.toFixed(1)} ms`,
      ),
    ),
  ];
}
