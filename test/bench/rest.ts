import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { writeDemoRelease } from '../../demo/demo-release.ts';
import { DEMO_RELEASE_IDS } from '../../demo/game/demo-story.ts';
import { until } from '../support/until.ts';
import { askSite } from './ask-site.ts';
import { benchRow, type BenchOptions, type BenchRow } from './bench-row.ts';
import { startSlipwaySite, type SlipwaySite } from './bytes/slipway-site.ts';
import { familySeconds, residentBytes } from './processor-time.ts';

const MIB = 2 ** 20;
const LONGEST_MS = 600_000;
/** A process that has just started collects garbage and compiles for a while. */
const SETTLE_MS = 30_000;
const WINDOW_MS = 240_000;

/** Memory of daemon and server with the demo, and their processor time while nobody asks for anything. */
export async function run({ quick, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const directory = join(workDirectory, 'rest');
  const files = join(directory, 'files');
  await writeDemoRelease(files, DEMO_RELEASE_IDS[1]);
  const site = await startSlipwaySite(join(directory, 'slipway'), files);
  try {
    const server = await site.startServer('at rest', { scrub: { enabled: true } });
    await until(async () => (await activeTasks(site)) === 0, LONGEST_MS);
    await delay(quick ? 0 : SETTLE_MS);
    const pids = { daemon: site.daemonPid, server: server.pid };
    const before = { daemon: familySeconds(pids.daemon), server: familySeconds(pids.server) };
    const began = performance.now();
    await delay(quick ? 1000 : WINDOW_MS);
    const seconds = (performance.now() - began) / 1000;
    return (['daemon', 'server'] as const).flatMap((name) => [
      benchRow({
        name: `at rest: processor of the ${name}`,
        rounds: [(100 * (familySeconds(pids[name]) - before[name])) / seconds],
        unit: '% of one processor',
        bound: { atMost: 0.5 },
        judged: !quick,
        note: `the demo, nobody asks; ${seconds.toFixed(0)} s`,
      }),
      benchRow({
        name: `at rest: memory of the ${name}`,
        rounds: [residentBytes([pids[name]]) / MIB],
        unit: 'MiB RSS',
        note: 'the demo',
      }),
    ]);
  } finally {
    await site.stop();
  }
}

async function activeTasks(site: SlipwaySite): Promise<number> {
  const { items } = (await askSite(site, 'reports/task.list')) as {
    readonly items: ReadonlyArray<{ readonly status: string }>;
  };
  return items.filter(({ status }) => status === 'queued' || status === 'running').length;
}
