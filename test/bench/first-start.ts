import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { benchRow, type BenchOptions, type BenchRow } from './bench-row.ts';
import { startSlipwaySite } from './bytes/slipway-site.ts';
import { secondsOf } from './elapsed.ts';
import { runPairedRounds } from './paired-rounds.ts';
import { startRepeatedUpstream } from './repeated-upstream.ts';
import { median } from './statistics.ts';

const MOST = 1.5;
/** How many entries have the same bytes. A release of a million different files would take an hour to sync. */
const ENTRIES_OF_OBJECT = 10;
const execute = promisify(execFile);

/** Reads every line of a manifest and calls `stat` for every object: the least that a server must do that checks its files. */
const READER = `
import { createReadStream, readdirSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
const [manifest, objects] = process.argv.slice(1);
let entries = 0;
for await (const line of createInterface({ input: createReadStream(manifest) })) entries += JSON.parse(line) === null ? 0 : 1;
let files = 0;
for (const folder of readdirSync(objects)) {
  for (const name of readdirSync(objects + '/' + folder)) files += statSync(objects + '/' + folder + '/' + name).isFile() ? 1 : 0;
}
console.log(entries, files);
`;

/** A server that starts with a release of a million entries, until it is ready. */
export async function run({ quick, rounds, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const entries = quick ? 2000 : 1_000_000;
  const directory = join(workDirectory, 'first-start');
  const upstream = await startRepeatedUpstream({
    entries,
    objects: entries / ENTRIES_OF_OBJECT,
    meanBytes: 1024,
  });
  const site = await startSlipwaySite(join(directory, 'slipway'), directory, {
    upstream: { kind: 'manifest', manifest: { url: upstream.url } },
  });
  try {
    await (await site.startServer('once')).stop();
    const snapshot = join(directory, 'slipway/snapshot');
    const manifests = await readdir(join(snapshot, 'manifests'));
    const manifest = manifests.find((name) => name.endsWith('.ndjson')) ?? '';
    const arguments_ = ['--input-type=module', '--eval', READER, join(snapshot, 'manifests', manifest)];
    const { pairs, isConclusive } = await runPairedRounds({
      rounds: Math.min(rounds, 5),
      quick,
      ours: async () =>
        await secondsOf(async () => {
          await (await site.startServer('first')).stop();
        }),
      theirs: async () =>
        await secondsOf(
          async () => await execute(process.execPath, [...arguments_, join(snapshot, 'objects')]),
        ),
    });
    const note = `${entries} entries; ${median(pairs.map(({ ours }) => ours)).toFixed(2)} s against ${median(pairs.map(({ theirs }) => theirs)).toFixed(2)} s of a program that parses the lines of the manifest and calls stat for each file`;
    return [
      benchRow({
        name: 'first start with a large release until ready',
        rounds: pairs.map(({ ours, theirs }) => ours / theirs),
        unit: 'x reading and stat',
        bound: { atMost: MOST },
        judged: isConclusive,
        note,
      }),
    ];
  } finally {
    await site.stop();
    upstream.stop();
  }
}
