import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { askSite } from './ask-site.ts';
import { benchRow, type BenchOptions, type BenchRow } from './bench-row.ts';
import { startSlipwaySite } from './bytes/slipway-site.ts';
import { secondsOf } from './elapsed.ts';
import { startManifestUpstream } from './manifest-upstream.ts';
import { median } from './statistics.ts';
import { syncFiles } from './sync-files.ts';

const MEAN_BYTES = 64 * 1024;
const CHANGED_EACH = 100;
/** What may pass beside the transfer of the changed files, seconds. */
const MOST_SECONDS = 1;
const execute = promisify(execFile);

/** From the look at a changed upstream until a client has the first byte of a changed file. */
export async function run({ quick, rounds, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const count = quick ? 200 : 8000;
  const directory = join(workDirectory, 'switch');
  const random = createRandom(99);
  const upstream = await startManifestUpstream(join(directory, 'upstream'));
  const write = async (i: number): Promise<string> =>
    await upstream.put(`${i}.bin`, random.bytes(MEAN_BYTES));
  for (let i = 0; i < count; i += 1) await write(i);
  await upstream.publish('first');
  const site = await startSlipwaySite(join(directory, 'slipway'), directory, {
    upstream: { kind: 'manifest', manifest: { url: `${upstream.url}/` } },
  });
  const totals: number[] = [];
  const copies: number[] = [];
  try {
    const server = await site.startServer('switching');
    for (let round = 0; round < Math.min(rounds, 5); round += 1) {
      const before = await server.untilServes('');
      const changed: string[] = [];
      for (let i = round; i < count; i += CHANGED_EACH) changed.push(await write(i));
      await upstream.publish(`round-${round}`);
      copies.push(await copySeconds(changed, join(directory, `copy${round}`)));
      const switched = async (): Promise<void> => {
        await askSite(site, 'control/sync', {});
        await server.untilServes(before);
        const answer = await fetch(server.url(`${round}.bin`));
        await answer.body?.getReader().read();
      };
      totals.push(await secondsOf(switched));
    }
  } finally {
    await site.stop();
    upstream.stop();
  }
  return [
    benchRow({
      name: 'from a changed upstream to the first byte that a client gets, beyond the transfer',
      rounds: totals.map((total, round) => total - (copies[round] ?? Number.NaN)),
      unit: 's',
      bound: { atMost: MOST_SECONDS },
      judged: !quick,
      note: `${count} files, 1 % changed; ${median(totals).toFixed(2)} s, cp and sync of the changed files ${median(copies).toFixed(2)} s; the wait for the next look at the upstream comes on top`,
    }),
  ];
}

async function copySeconds(files: readonly string[], to: string): Promise<number> {
  await mkdir(to);
  return await secondsOf(async () => {
    await execute('cp', [...files, to]);
    await syncFiles(to);
  });
}
