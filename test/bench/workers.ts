import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasTool } from '../support/tools.ts';
import { benchRow, type BenchOptions, type BenchRow } from './bench-row.ts';
import { writeCorpus } from './bytes/corpus.ts';
import { runWrk } from './bytes/load.ts';
import { startSlipwaySite, type SlipwaySite } from './bytes/slipway-site.ts';
import { processFamily } from './processor-time.ts';
import { median } from './statistics.ts';

const MIB = 2 ** 20;
const COUNTS = [1, 2, 4] as const;
const FILE = '16k.bin';

/** Rate and memory of a server with several worker processes, against one. The client has the same processors. */
export async function run(options: BenchOptions): Promise<BenchRow[]> {
  if (!hasTool('wrk')) {
    console.error('workers: left out, wrk is not installed');
    return [];
  }
  const directory = join(options.workDirectory, 'workers');
  const corpus = await writeCorpus(join(directory, 'files'), options);
  const site = await startSlipwaySite(join(directory, 'slipway'), corpus.directory);
  try {
    const measured: Workers[] = [];
    for (const count of COUNTS) measured.push(await measure(site, count, options));
    const [one] = measured;
    if (one === undefined) return [];
    return measured.map(({ count, rates, memory }) =>
      benchRow({
        name: `workers: 16 KB GET with ${count}`,
        rounds: rates.map((rate, round) => rate / (one.rates[round] ?? Number.NaN)),
        unit: 'x one worker',
        note: `${median(rates).toFixed(0)} requests/s; all processes together ${memory.proportional.toFixed(0)} MiB, of which each has ${memory.own.toFixed(0)} MiB of its own`,
      }),
    );
  } finally {
    await site.stop();
  }
}

interface Workers {
  readonly count: number;
  /** Requests a second. */
  readonly rates: readonly number[];
  /** MiB. Proportional: a page that several processes share counts once. Own: not shared, of the median process. */
  readonly memory: { readonly proportional: number; readonly own: number };
}

async function measure(site: SlipwaySite, count: number, { rounds, quick }: BenchOptions): Promise<Workers> {
  const server = await site.startServer(`${count} workers`, { workers: count });
  try {
    const load = { url: server.url(FILE), connections: 64, seconds: quick ? 1 : 3, fields: {} } as const;
    const rates: number[] = [];
    for (let round = -1; round < rounds; round += 1) {
      const { requests, seconds } = await runWrk({ ...load, bodyBytes: 16 * 1024 }, ['env']);
      if (round >= 0) rates.push(requests / seconds);
    }
    return { count, rates, memory: await memoryOf(server.pid) };
  } finally {
    await server.stop();
  }
}

async function memoryOf(pid: number): Promise<Workers['memory']> {
  const pages = await Promise.all(
    processFamily(pid).map(async (each) => {
      const text = await readFile(`/proc/${each}/smaps_rollup`, 'utf8');
      const bytes = (field: string): number =>
        Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) * 1024;
      return { proportional: bytes('Pss'), own: bytes('Private_Clean') + bytes('Private_Dirty') };
    }),
  );
  return {
    proportional: pages.reduce((sum, { proportional }) => sum + proportional, 0) / MIB,
    own: median(pages.map(({ own }) => own)) / MIB,
  };
}
