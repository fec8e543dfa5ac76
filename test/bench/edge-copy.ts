import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { hasTool } from '../support/tools.ts';
import { askSite } from './ask-site.ts';
import { benchRow, type BenchOptions, type BenchRow } from './bench-row.ts';
import { startSlipwaySite } from './bytes/slipway-site.ts';
import { secondsOf } from './elapsed.ts';
import { runAction } from './run-task.ts';
import { median } from './statistics.ts';

const MEAN_BYTES = 64 * 1024;
const CHANGED_EACH = 100;
/** Smallest allowed ratio to rsync. */
const LEAST = 0.8;
const execute = promisify(execFile);

/** One edge that copies a changed release, against rsync of the same change between two folders of this machine. */
export async function run({ quick, rounds, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  if (!hasTool('rsync')) {
    console.error('edge-copy: left out, rsync is not installed');
    return [];
  }
  const count = quick ? 500 : 20_000;
  const directory = join(workDirectory, 'edge-copy');
  const files = join(directory, 'files');
  const random = createRandom(7);
  const write = async (i: number): Promise<void> => {
    const file = join(files, String(i % 100), `${i}.bin`);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, random.bytes(MEAN_BYTES));
  };
  for (let i = 0; i < count; i += 1) await write(i);
  const rsync = async (): Promise<unknown> =>
    await execute('rsync', ['--archive', '--delete', '--fsync', `${files}/`, join(directory, 'copy/')]);
  await rsync();
  const originFolder = join(directory, 'origin');
  const origin = await startSlipwaySite(originFolder, files);
  const server = await origin.startServer('origin');
  const trustedKeys = [join(originFolder, 'keys/signing.pub')];
  const slipway = { url: new URL(server.url('/')).origin, trustedKeys };
  const edge = await startSlipwaySite(join(directory, 'edge'), directory, {
    upstream: { kind: 'slipway', slipway },
    sync: { onStart: false },
  });
  const [ours, theirs]: [number[], number[]] = [[], []];
  try {
    await runAction(edge, 'sync', {});
    for (let round = 0; round < Math.min(rounds, 5); round += 1) {
      const before = await server.untilServes('');
      for (let i = round; i < count; i += CHANGED_EACH) await write(i);
      await askSite(origin, 'control/sync', {});
      await server.untilServes(before);
      ours.push(await secondsOf(async () => await runAction(edge, 'sync', {})));
      theirs.push(await secondsOf(rsync));
    }
  } finally {
    await Promise.all([edge, origin].map(async (site) => await site.stop()));
  }
  return [
    benchRow({
      name: 'edge: a change of 1 % against rsync',
      rounds: theirs.map((seconds, round) => seconds / (ours[round] ?? Number.NaN)),
      unit: 'x rsync --fsync',
      bound: { atLeast: LEAST },
      judged: !quick,
      note: `${count} files of 64 KiB; from the order to sync until the release is attested ${median(ours).toFixed(2)} s, rsync ${median(theirs).toFixed(2)} s without a digest of any file`,
    }),
  ];
}
