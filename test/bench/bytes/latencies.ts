import { benchRow, type BenchOptions, type BenchRow } from '../bench-row.ts';
import type { HeldCounts } from '../connections.ts';
import { until } from '../../support/until.ts';
import { medianOf, runPairedRounds } from '../paired-rounds.ts';
import { holdIdle, holdStalled, keepHeld, type HeldConnections } from './held-connections.ts';
import { requestHead, startSocketsLoad, type RunningLoad } from './load.ts';
import type { Placement } from './placement.ts';
import type { SlipwayServer, SlipwaySite } from './slipway-site.ts';

/** Largest allowed ratio of the 99th percentile under load to that at rest. */
const MOST = 2;
const FILE = '16k.bin';
const FILE_BYTES = 16 * 1024;
const CONNECTIONS = 64;
/** Longest window. Windows that wait for an event end with it. */
const LONGEST_SECONDS = 120;
/** The scrub looks for work once a second, and rests longer while the machine is busy. */
const SCRUB_BEGINS_MS = 60_000;
/** As fast as the configuration allows. */
const FULL_SCRUB = { enabled: true, bytesPerSecond: Number.MAX_SAFE_INTEGER, share: 1, restSeconds: 1 };

/** Options of a latency measurement. */
export interface LatenciesOptions {
  readonly options: BenchOptions;
  readonly site: SlipwaySite;
  readonly placement: Placement;
  readonly counts: HeldCounts;
  /** Adds a large amount of data to the files of the site. */
  readonly enlarge: () => Promise<void>;
}

interface Scenario {
  readonly name: string;
  /** The p99 in milliseconds of one window under load. */
  readonly atWork: () => Promise<number>;
  /** The work that was done, for the note. */
  readonly proof: () => string;
}

/** The 99th percentile of 16 KB GETs at a steady rate while a server does other work, against a server at rest. */
export async function measureLatencies(given: LatenciesOptions): Promise<BenchRow[]> {
  const { site, counts, enlarge } = given;
  const resting = await site.startServer('at rest');
  const rows = [await compare(given, resting, switching(given, resting))];
  await enlarge();
  const before = await resting.untilServes('');
  await site.publish();
  await resting.untilServes(before);
  const scrubs = [
    ['the scrub runs as by default', { enabled: true }],
    ['the scrub runs at full speed', FULL_SCRUB],
  ] as const;
  for (const [name, scrub] of scrubs) {
    const server = await site.startServer(name, { scrub });
    rows.push(await compare(given, resting, scrubbing(given, server, name)));
    await server.stop();
  }
  const held = [
    {
      name: `${counts.stalled} downloads stall`,
      config: { cache: { blockBytes: 0 } },
      hold: async (server: SlipwayServer) => await holdStalled(server.url('100m.bin'), counts.stalled),
    },
    {
      name: `${counts.idle} connections are idle`,
      config: {},
      hold: async (server: SlipwayServer) => await holdIdle(server.url('1k.bin'), counts.idle),
    },
  ];
  for (const { name, config, hold } of held) {
    // The server at rest has the same configuration.
    const [idle, server] = [
      await site.startServer('at rest too', config),
      await site.startServer('held', config),
    ];
    rows.push(await holding(given, { idle, server, name, hold: async () => await hold(server) }));
    await Promise.all([idle.stop(), server.stop()]);
  }
  await resting.stop();
  return rows;
}

async function compare(
  given: LatenciesOptions,
  resting: SlipwayServer,
  scenario: Scenario,
): Promise<BenchRow> {
  const { rounds, quick } = given.options;
  const { pairs, noisyRounds, isConclusive } = await runPairedRounds({
    rounds,
    quick,
    ours: scenario.atWork,
    theirs: async () => await windowP99(given, resting),
  });
  const ratios = pairs.map(({ ours, theirs }) => ours / theirs);
  const [ours, theirs] = [medianOf(pairs, 'ours', Number), medianOf(pairs, 'theirs', Number)];
  const row = benchRow({
    name: `connections: p99 of a 16 KB GET while ${scenario.name}`,
    rounds: ratios,
    unit: 'x at rest',
    bound: { atMost: MOST },
    judged: isConclusive,
    note: `sockets client, ${rateOf(given.options)} requests/s; ${ours.toFixed(2)} ms against ${theirs.toFixed(2)} ms; ${scenario.proof()}`,
  });
  return { ...row, noisyRounds };
}

function switching(given: LatenciesOptions, server: SlipwayServer): Scenario {
  let switches = 0;
  return {
    name: 'a release switches',
    atWork: async () => {
      const before = await server.untilServes('');
      const load = beginLoad(given, server, LONGEST_SECONDS);
      await given.site.publish();
      await server.untilServes(before);
      switches += 1;
      return p99Of(await load.end());
    },
    proof: () => `${switches} syncs and switches; the daemon has the same processors`,
  };
}

function scrubbing(given: LatenciesOptions, server: SlipwayServer, name: string): Scenario {
  let bytes = 0;
  let milliseconds = 0;
  // Stopped while the other one is measured; otherwise that one would not be at rest.
  server.signal('SIGSTOP');
  return {
    name,
    atWork: async () => {
      server.signal('SIGCONT');
      const before = await server.metric('slipway_scrub_bytes_total');
      const startedAt = performance.now();
      const p99 = await windowP99(given, server);
      // On a busy machine a short window may fall into one of its rests.
      const read = await until(
        async () => (await server.metric('slipway_scrub_bytes_total')) - before || null,
        SCRUB_BEGINS_MS,
      );
      milliseconds += performance.now() - startedAt;
      bytes += read;
      server.signal('SIGSTOP');
      return p99;
    },
    proof: () => `the scrub read ${(bytes / 1e3 / milliseconds).toFixed(1)} MB/s`,
  };
}

async function holding(
  given: LatenciesOptions,
  {
    idle,
    server,
    name,
    hold,
  }: {
    readonly idle: SlipwayServer;
    readonly server: SlipwayServer;
    readonly name: string;
    readonly hold: () => Promise<HeldConnections>;
  },
): Promise<BenchRow> {
  const kept = await keepHeld(hold);
  try {
    return await compare(given, idle, {
      name,
      atWork: async () => {
        const held = await kept.fresh();
        const p99 = await windowP99(given, server);
        held.check();
        return p99;
      },
      proof: () => 'all of them open to the end of each window',
    });
  } finally {
    await kept.close();
  }
}

async function windowP99(given: LatenciesOptions, server: SlipwayServer): Promise<number> {
  return p99Of(await beginLoad(given, server, given.options.quick ? 0.5 : 2).result);
}

function beginLoad(
  { options, placement }: LatenciesOptions,
  server: SlipwayServer,
  seconds: number,
): RunningLoad {
  placement.place(server.pid, 'all');
  const url = server.url(FILE);
  return startSocketsLoad(
    {
      port: server.port,
      connections: CONNECTIONS,
      seconds,
      heads: [requestHead('GET', url)],
      status: 200,
      bodyBytes: FILE_BYTES,
      requestsPerSecond: rateOf(options),
    },
    placement.client('one'),
  );
}

function rateOf({ quick }: BenchOptions): number {
  return quick ? 200 : 2_000;
}

function p99Of({ p99Milliseconds }: Awaited<RunningLoad['result']>): number {
  if (p99Milliseconds === undefined) throw new Error('no answer came within the window');
  return p99Milliseconds;
}
