import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { benchRow, type BenchOptions, type BenchRow } from './bench-row.ts';
import { askSite } from './ask-site.ts';
import { requestHead, startSocketsLoad } from './bytes/load.ts';
import { findPlacement, type Placement } from './bytes/placement.ts';
import { startSlipwaySite, type SlipwayServer, type SlipwaySite } from './bytes/slipway-site.ts';
import { familySeconds, processorSeconds } from './processor-time.ts';
import { REPEATED_PROBE, REPEATED_PROBE_BYTES, startRepeatedUpstream } from './repeated-upstream.ts';
import { median } from './statistics.ts';

const MIB = 1024 * 1024;
/** The mean size of an object, bytes. */
const MEAN_BYTES = 64 * 1024;
/** How many entries have the same bytes: edges fetch an object once, and real time goes to objects. */
const ENTRIES_OF_OBJECT = 10;
const PROBE_WINDOW_SECONDS = 2;
/** Between two looks of an edge. */
const POLL_SECONDS = 1;
const REST_WINDOWS = 10;

/** The time and the traffic until every edge had a release. */
interface Arrival {
  readonly seconds: number;
  /** Objects that the edges lacked, of all edges together. */
  readonly objects: number;
  /** Bytes of the files that the edges lacked, of all edges together. */
  readonly missing: number;
  /** Bytes that the origin sent, without those of the probe. */
  readonly sent: SentBytes;
  /** The 99th percentile of each window, milliseconds. */
  readonly p99s: readonly number[];
  /** Share of a processor that the server of the origin used. */
  readonly originLoad: number;
}

/** Seconds of processor time that daemon and server of each edge have used. */
function edgeSeconds(edges: readonly SlipwaySite[], servers: readonly SlipwayServer[]): number[] {
  return edges.map(({ daemonPid }, at) => familySeconds(daemonPid) + familySeconds(servers[at]?.pid ?? 0));
}

/** Bytes that a server sent. */
interface SentBytes {
  /** Answers with a file, or with none. */
  readonly answers: number;
  /** Bodies of files. */
  readonly files: number;
  /** Pages of the manifest, with their heads. */
  readonly pages: number;
  /** Everything, with heads. */
  readonly all: number;
}

/** A real origin and real edges: a first release, then one that changes a hundredth of it. */
export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const entries = options.quick ? 2000 : 200_000;
  const edgeCount = options.quick ? 2 : 8;
  const placement = findPlacement();
  if (placement === null) throw new Error('the bench of edges needs two processors');
  const directory = join(options.workDirectory, 'edges');
  const objects = entries / ENTRIES_OF_OBJECT;
  const upstream = await startRepeatedUpstream({ entries, objects, meanBytes: MEAN_BYTES });
  const originFolder = join(directory, 'origin');
  const origin = await startSlipwaySite(originFolder, directory, {
    upstream: { kind: 'manifest', manifest: { url: upstream.url } },
  });
  const edges: SlipwaySite[] = [];
  try {
    placement.place(origin.daemonPid, 'one');
    const server = await origin.startServer('origin');
    placement.place(server.pid, 'one');
    const probe = new Probe(server, placement);
    const rest = await probe.rest();
    const servers: SlipwayServer[] = [];
    const startEdge = async (name: string): Promise<void> => {
      const trustedKeys = [join(originFolder, 'keys/signing.pub')];
      const slipway = { url: new URL(server.url('/')).origin, trustedKeys, pollSeconds: POLL_SECONDS };
      const edge = await startSlipwaySite(
        join(directory, name),
        directory,
        { upstream: { kind: 'slipway', slipway } },
        { daemon: placement.client('one'), server: placement.client('one') },
      );
      edges.push(edge);
      servers.push(await edge.startServer(name));
    };
    const first = await arrive(
      { server, probe, objects: (objects + 1) * edgeCount, missing: upstream.bytes(1) * edgeCount },
      async () => {
        await Promise.all(Array.from({ length: edgeCount }, async (_, at) => await startEdge(`edge${at}`)));
      },
    );
    const id = await server.untilServes('');
    upstream.publish(2);
    await askSite(origin, 'control/sync', {});
    await server.untilServes(id);
    const switchedAt = Date.now() / 1000;
    const busyBefore = edgeSeconds(edges, servers);
    const second = await arrive(
      {
        server,
        probe,
        objects: Math.ceil(objects / 100) * edgeCount,
        missing: upstream.bytes(2) * edgeCount,
      },
      async () => {
        await Promise.all(servers.map(async (edge) => await edge.untilServes(id)));
      },
    );
    const busy = edgeSeconds(edges, servers).map((seconds, at) => seconds - (busyBefore[at] ?? 0));
    const waits = await Promise.all(
      edges.map(async (edge) => Math.max(0, (await lastSyncBegan(edge)) - switchedAt)),
    );
    const peaks = {
      originServer: await peakBytes([server.pid]),
      originDaemon: await peakBytes([origin.daemonPid]),
      edgeServer: await peakBytes(servers.map(({ pid }) => pid)),
      edgeDaemon: await peakBytes(edges.map(({ daemonPid }) => daemonPid)),
    };
    const setting = `${edgeCount} edges, ${entries} entries, ${objects} objects of ${MEAN_BYTES / 1024} KiB on average`;
    return [
      ...arrivalRows('first release', setting, first, rest),
      ...arrivalRows('1 % update', setting, second, rest),
      row('1 % update: processor time of an edge', busy, 's', null, 'its daemon and its server'),
      row(
        '1 % update: from the switch until the last edge begins to copy',
        [Math.max(...waits)],
        's',
        GOALS.wait,
        `a look each second; the times of tasks are whole seconds`,
      ),
      ...Object.entries(peaks).map(([name, peak]) =>
        row(
          `peak RSS, ${PEAK_NAMES[name as keyof typeof peaks]}`,
          peak.map((each) => each / MIB),
          'MiB',
          null,
          setting,
        ),
      ),
    ];
  } finally {
    await Promise.all([...edges, origin].map(async (site) => await site.stop()));
    upstream.stop();
  }
}

const PEAK_NAMES = {
  originServer: 'server of the origin',
  originDaemon: 'daemon of the origin',
  edgeServer: 'server of an edge',
  edgeDaemon: 'daemon of an edge',
} as const;

/** A client that asks the origin for one small file at a steady rate, whatever comes back. */
class Probe {
  /** Bytes of an answer with its head. */
  answerBytes = 0;
  readonly #server: SlipwayServer;
  readonly #placement: Placement;

  constructor(server: SlipwayServer, placement: Placement) {
    this.#server = server;
    this.#placement = placement;
  }

  /** Asks while nothing else does. @returns the 99th percentile of each window, milliseconds */
  async rest(): Promise<number[]> {
    const before = await sentBytes(this.#server);
    const p99s: number[] = [];
    while (p99s.length < REST_WINDOWS) p99s.push(await this.window());
    const after = await sentBytes(this.#server);
    this.answerBytes = (after.all - before.all) / (after.answers - before.answers);
    return p99s;
  }

  /** Asks for some seconds. @returns the 99th percentile of the latency, milliseconds */
  async window(): Promise<number> {
    const load = startSocketsLoad(
      {
        port: this.#server.port,
        connections: 16,
        seconds: PROBE_WINDOW_SECONDS,
        heads: [requestHead('GET', this.#server.url(REPEATED_PROBE))],
        status: 200,
        bodyBytes: REPEATED_PROBE_BYTES,
        requestsPerSecond: 1000,
      },
      // The edges use the whole of their processor; their share of it is not part of the measurement.
      ['nice', '-n', '-20', ...this.#placement.client('one')],
    );
    const { p99Milliseconds } = await load.result;
    if (p99Milliseconds === undefined) throw new Error('no answer came within the window');
    return p99Milliseconds;
  }
}

interface Origin {
  readonly server: SlipwayServer;
  readonly probe: Probe;
  /** The objects that the edges lack, of all edges together, and their bytes. */
  readonly objects: number;
  readonly missing: number;
}

/** Runs something until all edges have a release, and measures the origin meanwhile. */
async function arrive(
  { server, probe, objects, missing }: Origin,
  work: () => Promise<void>,
): Promise<Arrival> {
  const before = await sentBytes(server);
  const busyBefore = processorSeconds([server.pid]);
  const p99s: number[] = [];
  const done = new AbortController();
  const started = performance.now();
  const windows = (async () => {
    while (!done.signal.aborted) p99s.push(await probe.window());
  })();
  let seconds = 0;
  try {
    await work();
    seconds = (performance.now() - started) / 1000;
  } finally {
    done.abort();
    await windows;
  }
  const originLoad = (processorSeconds([server.pid]) - busyBefore) / ((performance.now() - started) / 1000);
  const after = await sentBytes(server);
  // The probe cannot count its own: those in flight at the end of a window reach the server, too.
  const probed = after.answers - before.answers - objects;
  const sent = {
    answers: objects,
    files: after.files - before.files - probed * REPEATED_PROBE_BYTES,
    pages: after.pages - before.pages,
    all: after.all - before.all - probed * probe.answerBytes,
  };
  return { seconds, objects, missing, sent, p99s, originLoad };
}

/** When the newest sync of a site began, Unix seconds. */
async function lastSyncBegan(site: SlipwaySite): Promise<number> {
  const { items } = (await askSite(site, 'reports/task.list')) as {
    readonly items: ReadonlyArray<{ readonly kind: string; readonly started_at: number | null }>;
  };
  return Math.max(...items.map(({ kind, started_at: at }) => (kind === 'sync' && at !== null ? at : 0)));
}

/** The bytes that a server has sent. */
async function sentBytes(server: SlipwayServer): Promise<SentBytes> {
  const total = 'slipway_http_response_bytes_total';
  const [answers, files, pages, all] = await Promise.all([
    server.metric('slipway_cdn_responses_total'),
    server.metric('slipway_cdn_sent_bytes_total'),
    server.metric(`${total}{route="/v1/distribution"}`),
    server.metric(total),
  ]);
  return { answers, files, pages, all };
}

/** The largest resident memory that some processes have had, bytes. */
async function peakBytes(pids: readonly number[]): Promise<number[]> {
  return await Promise.all(
    pids.map(async (pid) => {
      const status = await readFile(`/proc/${pid}/status`, 'utf8');
      return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
    }),
  );
}

function arrivalRows(
  name: string,
  setting: string,
  { seconds, objects, missing, sent, p99s, originLoad }: Arrival,
  rest: readonly number[],
): BenchRow[] {
  const heads = sent.all - sent.files - sent.pages;
  const ratios = p99s.map((each) => each / median(rest));
  const load = `the server of the origin used ${(100 * originLoad).toFixed(0)} % of its processor`;
  const perFile = `${(heads / objects).toFixed(0)} bytes of heads an object, ${(sent.pages / MIB).toFixed(1)} MiB of pages`;
  return [
    row(`${name}: until every edge serves it`, [seconds], 's', null, setting),
    row(
      `${name}: bytes of files that the origin sent`,
      [sent.files / missing],
      'x missing',
      GOALS.bytes,
      `${(missing / MIB).toFixed(1)} MiB were missing`,
    ),
    row(`${name}: all bytes that the origin sent`, [sent.all / missing], 'x missing', GOALS.bytes, perFile),
    row(
      `${name}: p99 of a GET at the origin meanwhile`,
      ratios,
      'x at rest',
      GOALS.latency,
      `${median(p99s).toFixed(2)} ms against ${median(rest).toFixed(2)} ms; ${load}`,
    ),
  ];
}

/** An interval is up to a tenth longer, and the beginning of a task is known to a second. */
const GOALS = { bytes: 1.02, latency: 1.5, wait: 1.1 * POLL_SECONDS + 1 } as const;

function row(
  name: string,
  rounds: readonly number[],
  unit: string,
  limit: number | null,
  note: string,
): BenchRow {
  return benchRow({ name, rounds, unit, bound: limit === null ? {} : { atMost: limit }, note });
}
