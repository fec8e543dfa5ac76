import { join } from 'node:path';
import { processFigures } from '../support/process-figures.ts';
import { until } from '../support/until.ts';
import { askSite } from './ask-site.ts';
import { benchRow, type BenchOptions, type BenchRow } from './bench-row.ts';
import { startSlipwaySite, type SlipwayServer, type SlipwaySite } from './bytes/slipway-site.ts';
import { CATALOG_LIST, writeLocalizedUpstream, type LocalizedUpstream } from './localized-upstream.ts';
import { prepareBuilding, type Building } from './patch-files.ts';
import { familySeconds } from './processor-time.ts';
import { resultOfTask, runAction } from './run-task.ts';
import { startSampling, type Samples } from './site-samples.ts';
import { largest, median } from './statistics.ts';
import { translateFile } from './translate-files.ts';

const MIB = 2 ** 20;
const LONGEST_MS = 900_000;
/** Seconds that people wait at most: for a publish, and for the localized release after an official one. */
const MOST_PUBLISH = 1;
const MOST_FOLLOWING = 6;
/** Allowed memory of the daemon, and its growth over the repeated publishes. */
const MOST_DAEMON = 350;
const MOST_GROWTH = 16;
/** The publishes whose memory is compared: those at the beginning, without the first, and those at the end. */
const COMPARED = 3;
const FEWEST_PUBLISHES = 2 * COMPARED + 1;
/** Each ninth file is of all formats in turn. */
const CHANGED_STEP = 9;
/** The first file of each format is large, and takes long to translate. */
const LARGE_FILES = 4;

interface Size {
  readonly containers: number;
  readonly units: number;
  readonly localized: number;
  readonly changed: number;
  /** Files that the next official release changes. */
  readonly updated: number;
}

/** One publish, with the building of the same files by itself. */
interface Publish extends Samples {
  readonly seconds: number;
  readonly building: Building;
  /** Of the daemon at rest afterwards. */
  readonly restingBytes: number;
}

/** One official release and the localized release that follows it. */
interface Update {
  readonly syncSeconds: number;
  readonly servedSeconds: number;
  /** Processor time of the daemon and its children. */
  readonly syncProcessorSeconds: number;
  readonly servedProcessorSeconds: number;
}

/**
 * A real daemon that publishes a localized release of some files again after some of their texts changed, and that lets it
 * follow an official release of which one file in a hundred changed, with a server beside it.
 */
export async function run({ quick, rounds, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const size: Size = quick
    ? { containers: 80, units: 4000, localized: 20, changed: 2, updated: 2 }
    : { containers: 8000, units: 200_000, localized: 200, changed: 20, updated: 80 };
  const directory = join(workDirectory, 'localized');
  const files = join(directory, 'files');
  const upstream = await writeLocalizedUpstream(files, size);
  const site = await startSlipwaySite(join(directory, 'slipway'), files, {
    localized: { minState: 'draft', auto: true, catalogs: { lists: [CATALOG_LIST] } },
  });
  try {
    await untilTasksBuilt(site);
    const localized = upstream.files.slice(LARGE_FILES, LARGE_FILES + size.localized);
    for (const name of localized) await translateFile(site, name, 0);
    const first = await publishAll(site, size);
    const changed = localized.filter((_, at) => at % CHANGED_STEP === 0).slice(0, size.changed);
    const build = await prepareBuilding(files, {
      files: changed,
      workDirectory: join(directory, 'building'),
    });
    const publishes: Publish[] = [];
    for (let round = 1; round <= Math.max(rounds, FEWEST_PUBLISHES); round += 1)
      publishes.push(await publishChanged(site, { changed, edition: round, build }));
    const server = await site.startServer('serving', {});
    const updates: Update[] = [];
    for (let round = 0; round < rounds; round += 1)
      updates.push(await update({ site, server, upstream }, size));
    return rowsOf({ quick, size, first, publishes, updates });
  } finally {
    await site.stop();
  }
}

/** Publishes all translated files for the first time. @returns seconds */
async function publishAll(site: SlipwaySite, { localized }: Size): Promise<number> {
  const begin = performance.now();
  const { built_containers: built } = await publish(site);
  if (built !== localized) throw new Error(`${built} files were built, not ${localized}`);
  return (performance.now() - begin) / 1000;
}

async function publish(site: SlipwaySite): Promise<{ built_containers: number }> {
  return await runAction(site, 'localized-publish', { from_worker: true });
}

/** Changes a text of some files and publishes again. */
async function publishChanged(
  site: SlipwaySite,
  {
    changed,
    edition,
    build,
  }: {
    readonly changed: readonly string[];
    readonly edition: number;
    readonly build: (edition: number) => Promise<Building>;
  },
): Promise<Publish> {
  for (const name of changed) await translateFile(site, name, edition, 1);
  // In turns, so that a busy machine slows both.
  const building = await build(edition);
  const sampling = startSampling(site.daemonPid);
  const begin = performance.now();
  const { built_containers: built } = await publish(site);
  const seconds = (performance.now() - begin) / 1000;
  const samples = await sampling.stop();
  if (built !== changed.length) throw new Error(`${built} files were built, not ${changed.length}`);
  const { residentBytes: restingBytes } = await processFigures(site.daemonPid);
  return { ...samples, seconds, building, restingBytes };
}

/** Publishes the next official release, and waits until the localized release of it is served. */
async function update(
  {
    site,
    server,
    upstream,
  }: { readonly site: SlipwaySite; readonly server: SlipwayServer; readonly upstream: LocalizedUpstream },
  { updated }: Size,
): Promise<Update> {
  await upstream.change(updated);
  const before = familySeconds(site.daemonPid);
  const begin = performance.now();
  const { task_id: sync } = (await askSite(site, 'control/sync', {})) as { task_id: string };
  const { release_id: id } = await resultOfTask<{ release_id: string }>(site, sync);
  const syncSeconds = (performance.now() - begin) / 1000;
  const syncProcessorSeconds = familySeconds(site.daemonPid) - before;
  await until(async () => {
    const response = await fetch(server.url('/v1/distribution?channel=localized'));
    const { release_id: served } = (await response.json()) as { release_id?: string };
    return response.status === 200 && served === `${id}-l1`;
  }, LONGEST_MS);
  return {
    syncSeconds,
    servedSeconds: (performance.now() - begin) / 1000,
    syncProcessorSeconds,
    servedProcessorSeconds: familySeconds(site.daemonPid) - before,
  };
}

async function untilTasksBuilt(site: SlipwaySite): Promise<void> {
  const { task_id: taskId } = await until(async () => {
    const { items } = (await askSite(site, 'reports/task.list')) as {
      items: { kind: string; task_id: string }[];
    };
    return items.find(({ kind }) => kind === 'task-build');
  }, LONGEST_MS);
  await resultOfTask(site, taskId);
}

function rowsOf({
  quick,
  size,
  first,
  publishes,
  updates,
}: {
  readonly quick: boolean;
  readonly size: Size;
  readonly first: number;
  readonly publishes: readonly Publish[];
  readonly updates: readonly Update[];
}): BenchRow[] {
  const row = (
    name: string,
    values: readonly number[],
    { unit, atMost, note }: { readonly unit: string; readonly atMost: number; readonly note: string },
  ): BenchRow =>
    benchRow({ name: `localized: ${name}`, rounds: values, unit, bound: { atMost }, judged: !quick, note });
  const medianOf = <Item>(items: readonly Item[], figure: (item: Item) => number): string =>
    median(items.map(figure)).toFixed(2);
  const files = `${size.localized} of ${size.containers} files, ${size.units} units`;
  const resting = publishes.map(({ restingBytes }) => restingBytes / MIB);
  const [early, late] = [resting.slice(1, 1 + COMPARED), resting.slice(-COMPARED)];
  return [
    row(
      `publish after ${size.changed} files changed`,
      publishes.map(({ seconds }) => seconds),
      {
        unit: 's',
        atMost: MOST_PUBLISH,
        note: `${files}; building these files takes ${medianOf(publishes, ({ building }) => building.seconds)} s; processor time ${medianOf(publishes, ({ daemonSeconds }) => daemonSeconds)} s of the daemon and ${medianOf(publishes, ({ childSeconds }) => childSeconds)} s of its processes against ${medianOf(publishes, ({ building }) => building.processorSeconds)} s; the first publish took ${first.toFixed(1)} s`,
      },
    ),
    row(
      'memory of the daemon while it publishes',
      [largest(publishes.map(({ daemonBytes }) => daemonBytes)) / MIB],
      {
        unit: 'MiB RSS',
        atMost: MOST_DAEMON,
        note: `largest of a sample every 100 ms; largest process beside it ${(largest(publishes.map(({ childBytes }) => childBytes)) / MIB).toFixed(0)} MiB`,
      },
    ),
    row('growth of the daemon over repeated publishes', [Math.max(0, median(late) - median(early))], {
      unit: 'MiB RSS',
      atMost: MOST_GROWTH,
      note: `${publishes.length} publishes; at rest after each: ${resting.map((each) => each.toFixed(0)).join(', ')} MiB`,
    }),
    row(
      'from an official release to the localized release that is served',
      updates.map(({ servedSeconds }) => servedSeconds),
      {
        unit: 's',
        atMost: MOST_FOLLOWING,
        note: `${size.updated} of ${size.containers} files changed; the sync takes ${medianOf(updates, ({ syncSeconds }) => syncSeconds)} s of it; processor time ${medianOf(updates, ({ servedProcessorSeconds }) => servedProcessorSeconds)} s against ${medianOf(updates, ({ syncProcessorSeconds }) => syncProcessorSeconds)} s`,
      },
    ),
  ];
}
