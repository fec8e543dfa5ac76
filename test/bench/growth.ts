import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { startFakeSlipway } from '../support/fake-slipway.ts';
import { kubeTools } from '../support/kube-tools.ts';
import { startOperatorWorld } from '../support/operator-world.ts';
import { writeTextRelease } from '../support/text-release.ts';
import { benchRow, type BenchOptions, type BenchRow } from './bench-row.ts';
import { startSlipwaySite, type SlipwaySite } from './bytes/slipway-site.ts';
import { secondsOf } from './elapsed.ts';
import { writeGrowthPlot, type GrowthSeries } from './growth-plot.ts';
import { convergenceOf } from './operator.ts';
import { startRepeatedUpstream } from './repeated-upstream.ts';
import { resultOfTask, runAction, startJob } from './run-task.ts';

const MIB = 1024 * 1024;
/** The largest exponent of the time by the size: 1 is in proportion. */
const MOST_EXPONENT = 1.05;
const PLOT = 'bench-results/growth.svg';

/** A job whose size grows. */
interface GrowingJob {
  readonly name: string;
  readonly unit: string;
  readonly sizes: readonly number[];
  /** Runs the job at one size, in an empty directory. @returns seconds, or `null` when a tool is missing */
  readonly measure: (size: number, directory: string) => Promise<number | null>;
}

/** How the time of each main job grows with its size: the exponent of a power law, and a plot. */
export async function run({ quick, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  const series: GrowthSeries[] = [];
  for (const { name, unit, sizes, measure } of jobs(quick)) {
    const points: Array<{ readonly size: number; readonly seconds: number }> = [];
    for (const size of sizes) {
      const directory = join(workDirectory, 'growth', name, String(size));
      await mkdir(directory, { recursive: true });
      const seconds = await measure(size, directory);
      if (seconds !== null) points.push({ size, seconds });
    }
    if (points.length < 2) continue;
    const exponent = exponentOf(points);
    series.push({ name, unit, points, exponent });
    rows.push(
      benchRow({
        name: `growth: ${name}`,
        rounds: [exponent],
        unit: 'exponent',
        bound: { atMost: MOST_EXPONENT },
        judged: !quick,
        note: points.map(({ size, seconds }) => `${size} ${unit} ${seconds.toFixed(2)} s`).join(', '),
      }),
    );
  }
  // A quick run measures other sizes.
  if (!quick) await writeGrowthPlot(PLOT, series);
  return rows;
}

function jobs(quick: boolean): readonly GrowingJob[] {
  const sizes = (full: readonly number[]): readonly number[] =>
    quick ? full.slice(0, 2).map((size) => Math.ceil(size / 10)) : full;
  return [
    {
      name: 'sync by entries',
      unit: 'entries',
      sizes: sizes([2000, 20_000, 200_000]),
      measure: syncEntries,
    },
    { name: 'sync by bytes', unit: 'MiB', sizes: sizes([20, 200, 2000]), measure: syncBytes },
    {
      name: 'parse index by units',
      unit: 'units',
      sizes: sizes([10_000, 100_000, 1_000_000]),
      measure: indexUnits,
    },
    { name: 'edges that follow', unit: 'edges', sizes: quick ? [1, 2] : [1, 2, 4, 8], measure: followEdges },
    {
      name: 'ReleaseChannels until Ready',
      unit: 'objects',
      sizes: sizes([10, 100, 1000]),
      measure: reconcileChannels,
    },
  ];
}

/** The slope of the line through the logarithms (least squares). */
function exponentOf(points: ReadonlyArray<{ readonly size: number; readonly seconds: number }>): number {
  const logs = points.map(({ size, seconds }) => ({ x: Math.log(size), y: Math.log(seconds) }));
  const mean = (of: 'x' | 'y'): number => logs.reduce((sum, each) => sum + each[of], 0) / logs.length;
  const [x, y] = [mean('x'), mean('y')];
  const above = logs.reduce((sum, each) => sum + (each.x - x) * (each.y - y), 0);
  const below = logs.reduce((sum, each) => sum + (each.x - x) ** 2, 0);
  return above / below;
}

async function syncEntries(entries: number, directory: string): Promise<number> {
  const upstream = await startRepeatedUpstream({ entries, objects: entries / 10, meanBytes: 1024 });
  try {
    const config = { upstream: { kind: 'manifest', manifest: { url: upstream.url } } };
    return await withSite(directory, directory, config, async (site) => await timeSync(site));
  } finally {
    upstream.stop();
  }
}

async function syncBytes(mebibytes: number, directory: string): Promise<number> {
  const files = join(directory, 'files');
  await mkdir(files);
  const random = createRandom(mebibytes);
  for (let i = 0; i < 20; i += 1) {
    await writeFile(join(files, `${i}.bin`), random.bytes((mebibytes * MIB) / 20));
  }
  return await withSite(directory, files, {}, async (site) => await timeSync(site));
}

async function indexUnits(units: number, directory: string): Promise<number> {
  const files = join(directory, 'files');
  await writeTextRelease(files, { units, containers: Math.ceil(units / 125) });
  return await withSite(directory, files, { parse: { automatic: false } }, async (site) => {
    await timeSync(site);
    return await secondsOf(async () => await resultOfTask(site, await startJob(site, 'parse')));
  });
}

async function followEdges(count: number, directory: string): Promise<number> {
  const upstream = await startRepeatedUpstream({ entries: 2000, objects: 2000, meanBytes: 16 * 1024 });
  const originFolder = join(directory, 'origin');
  const origin = await startSlipwaySite(originFolder, directory, {
    upstream: { kind: 'manifest', manifest: { url: upstream.url } },
  });
  const edges: SlipwaySite[] = [];
  try {
    const server = await origin.startServer('origin');
    const trustedKeys = [join(originFolder, 'keys/signing.pub')];
    const slipway = { url: new URL(server.url('/')).origin, trustedKeys };
    for (let i = 0; i < count; i += 1) {
      const config = { upstream: { kind: 'slipway', slipway }, sync: { onStart: false } };
      edges.push(await startSlipwaySite(join(directory, `edge${i}`), directory, config));
    }
    return await secondsOf(
      async () => await Promise.all(edges.map(async (edge) => await runAction(edge, 'sync', {}))),
    );
  } finally {
    await Promise.all([...edges, origin].map(async (site) => await site.stop()));
    upstream.stop();
  }
}

async function reconcileChannels(count: number): Promise<number | null> {
  if (kubeTools('etcd', 'kube-apiserver') === null) return null;
  const ends: Array<() => Promise<void> | void> = [];
  const atEnd = (end: () => Promise<void> | void): void => {
    ends.push(end);
  };
  try {
    const world = await startOperatorWorld(atEnd);
    return (await convergenceOf(world, await startFakeSlipway(atEnd), count, atEnd)).seconds;
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

async function withSite(
  directory: string,
  files: string,
  config: Readonly<Record<string, unknown>>,
  work: (site: SlipwaySite) => Promise<number>,
): Promise<number> {
  const site = await startSlipwaySite(join(directory, 'slipway'), files, {
    sync: { onStart: false },
    ...config,
  });
  try {
    return await work(site);
  } finally {
    await site.stop();
  }
}

async function timeSync(site: SlipwaySite): Promise<number> {
  return await secondsOf(async () => await runAction(site, 'sync', {}));
}
