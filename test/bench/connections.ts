import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { hasTool } from '../support/tools.ts';
import { benchRow, type BenchOptions, type BenchRow } from './bench-row.ts';
import { writeCorpus, writeLargeFiles, writeSmallFiles } from './bytes/corpus.ts';
import {
  holdableConnections,
  holdIdle,
  holdStalled,
  sendHalfHeads,
  type HeldConnections,
} from './bytes/held-connections.ts';
import { measureLatencies } from './bytes/latencies.ts';
import { CHART_DAEMON, findPlacement } from './bytes/placement.ts';
import { startSlipwaySite, type SlipwayServer, type SlipwaySite } from './bytes/slipway-site.ts';
import { residentBytes } from './processor-time.ts';
import { largest } from './statistics.ts';

const MEBIBYTE = 1024 * 1024;
const IDLE_CONNECTIONS = 5_000;
/**
 * The connections are opened in this many steps. The first ones use memory that is left over from the start of the
 * process.
 */
const IDLE_STEPS = 5;
const STALLED_DOWNLOADS = 500;
const WARM_CONNECTIONS = 10;
const HALF_HEADS = 20;
/** Processes start with different amounts of memory, so each process is a round. */
const MAX_PROCESSES = 3;
/** Memory counts as settled when it changes by less than this in a step; MiB and milliseconds. */
const SETTLED_MIB = 1;
const SETTLE_STEP_MS = 500;
const MAX_SETTLE_STEPS = 30;

/** How many connections of each kind are held. */
export interface HeldCounts {
  readonly idle: number;
  readonly stalled: number;
}

/** The cost of connections on the real server, and the latency of other requests while it does other work. */
export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const placement = hasTool('taskset') ? findPlacement() : null;
  if (placement === null) {
    console.error('connections: left out, it needs taskset and two processors');
    return [];
  }
  const directory = join(options.workDirectory, 'connections');
  const corpus = await writeCorpus(join(directory, 'files'), options);
  await writeSmallFiles(corpus.directory, options.quick ? 100 : 1_000);
  const site = await startSlipwaySite(
    join(directory, 'slipway'),
    corpus.directory,
    {},
    { daemon: CHART_DAEMON },
  );
  const counts: HeldCounts = {
    idle: holdableConnections(options.quick ? 200 : IDLE_CONNECTIONS),
    stalled: holdableConnections(options.quick ? 20 : STALLED_DOWNLOADS),
  };
  try {
    return [
      await measureIdle(site, options, counts.idle),
      await measureStalled(site, options, counts.stalled),
      await measureHalfHeads(site, options),
      ...(await measureLatencies({
        options,
        site,
        placement,
        counts,
        enlarge: async () => {
          await writeLargeFiles(corpus.directory, options);
        },
      })),
    ];
  } finally {
    await site.stop();
  }
}

async function measureIdle(site: SlipwaySite, options: BenchOptions, count: number): Promise<BenchRow> {
  const url = (server: SlipwayServer): string => server.url('1k.bin');
  const step = Math.floor(count / IDLE_STEPS);
  const kibibytes = await inFreshServers(site, options, {}, async (server) => {
    await (await holdIdle(url(server), WARM_CONNECTIONS)).close();
    const held: HeldConnections[] = [];
    const growths: number[] = [];
    let before = await settledBytes(server);
    for (let i = 0; i < IDLE_STEPS; i += 1) {
      held.push(await holdIdle(url(server), step));
      const now = await settledBytes(server);
      growths.push(now - before);
      before = now;
    }
    for (const each of held) {
      each.check();
      await each.close();
    }
    return largest(growths) / 1024 / step;
  });
  return bounded('RSS of an idle connection', kibibytes, {
    unit: 'KiB',
    most: 9,
    judged: !options.quick,
    note: `${step * IDLE_STEPS} connections that have had one answer; the fifth of them with which it grew most`,
  });
}

async function measureStalled(site: SlipwaySite, options: BenchOptions, count: number): Promise<BenchRow> {
  const url = (server: SlipwayServer): string => server.url('100m.bin');
  // Without the cache: its content would be counted too.
  const mebibytes = await inFreshServers(site, options, { cache: { blockBytes: 0 } }, async (server) => {
    // One-time work is not a cost of connections: verifying, compiling, building tables.
    await (await fetch(url(server))).bytes();
    await (await holdStalled(url(server), WARM_CONNECTIONS)).close();
    const before = await settledBytes(server);
    const held = await holdStalled(url(server), count);
    const growth = (await settledBytes(server)) - before;
    held.check();
    await held.close();
    return growth / MEBIBYTE;
  });
  return bounded('RSS of stalled 100 MB downloads', mebibytes, {
    unit: 'MiB',
    most: Math.floor(64 + (80 * count) / 1024),
    judged: !options.quick,
    note: `${count} downloads, no cache: 64 MiB and 80 KiB each`,
  });
}

async function measureHalfHeads(site: SlipwaySite, options: BenchOptions): Promise<BenchRow> {
  const server = await site.startServer(
    'half heads',
    options.quick ? { limits: { headersTimeoutMs: 500 } } : {},
  );
  try {
    const seconds = await sendHalfHeads(server.url('16k.bin'), HALF_HEADS);
    const row = bounded('a half-sent request head is closed within', seconds, {
      unit: 's',
      most: 12,
      judged: !options.quick,
      note: `the longest of ${HALF_HEADS} connections`,
    });
    return { ...row, value: largest(seconds), pass: options.quick ? null : largest(seconds) <= 12 };
  } finally {
    await server.stop();
  }
}

/** Measures some fresh processes, one after the other. */
async function inFreshServers(
  site: SlipwaySite,
  { rounds }: BenchOptions,
  config: Readonly<Record<string, unknown>>,
  measure: (server: SlipwayServer) => Promise<number>,
): Promise<number[]> {
  const measured: number[] = [];
  for (let round = 0; round < Math.min(rounds, MAX_PROCESSES); round += 1) {
    const server = await site.startServer('fresh', config);
    try {
      measured.push(await measure(server));
    } finally {
      await server.stop();
    }
  }
  return measured;
}

async function settledBytes({ pid }: SlipwayServer): Promise<number> {
  let before = residentBytes([pid]);
  for (let step = 0; step < MAX_SETTLE_STEPS; step += 1) {
    await delay(SETTLE_STEP_MS);
    const now = residentBytes([pid]);
    if (Math.abs(now - before) < SETTLED_MIB * MEBIBYTE) return now;
    before = now;
  }
  throw new Error('the memory of the server does not settle');
}

function bounded(
  name: string,
  rounds: readonly number[],
  {
    unit,
    most,
    judged,
    note,
  }: { readonly unit: string; readonly most: number; readonly judged: boolean; readonly note: string },
): BenchRow {
  return benchRow({ name: `connections: ${name}`, rounds, unit, bound: { atMost: most }, judged, note });
}
