import { join } from 'node:path';
import { hasTool } from '../support/tools.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { BYTE_CASES, type ByteCase, type CaseRequest } from './bytes/byte-case.ts';
import { writeCorpus, type Corpus } from './bytes/corpus.ts';
import { measurePeer, type LoadPlan, type Measured } from './bytes/measure-peer.ts';
import { startNginxPeer } from './bytes/nginx-peer.ts';
import { NODE_FILE_SERVERS, startNodePeer } from './bytes/node-peer.ts';
import type { Peer } from './bytes/peer.ts';
import { findPlacement, type Placement } from './bytes/placement.ts';
import { rowsOfCase, type OtherPeer } from './bytes/rows-of-case.ts';
import { startSlipwaySite } from './bytes/slipway-site.ts';
import { verifyPeer } from './bytes/verify-peer.ts';
import { runPairedRounds } from './paired-rounds.ts';

/** Rounds and seconds of measurements that are only reported. */
const OTHER_ROUNDS = 3;
const OTHER_SECONDS = 1;

interface Bench {
  readonly options: BenchOptions;
  readonly corpus: Corpus;
  readonly placement: Placement;
  readonly nginx: Peer;
  readonly slipway: Readonly<Record<ByteCase['cache'], Peer>>;
  readonly others: readonly Peer[];
}

/**
 * Resource bytes of the real server, with metrics and verification and without access log, against nginx with one
 * worker.
 */
export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const missing = ['nginx', 'wrk', 'taskset'].filter((tool) => !hasTool(tool));
  const placement = missing.length === 0 ? findPlacement() : null;
  if (placement === null) {
    console.error(
      `bytes: left out, ${missing.length > 0 ? `${missing.join(', ')} not installed` : 'it needs two processors'}`,
    );
    return [];
  }
  const directory = join(options.workDirectory, 'bytes');
  const corpus = await writeCorpus(join(directory, 'files'), options);
  const peers: Array<{ stop(): Promise<void> }> = [];
  const keep = <T extends { stop(): Promise<void> }>(peer: T): T => {
    peers.push(peer);
    return peer;
  };
  try {
    const site = keep(await startSlipwaySite(join(directory, 'slipway'), corpus.directory));
    const bench: Bench = {
      options,
      corpus,
      placement,
      nginx: keep(await startNginxPeer(join(directory, 'nginx'), corpus.directory)),
      slipway: {
        default: await site.startServer('Slipway'),
        none: await site.startServer('Slipway without cache', { cache: { blockBytes: 0 } }),
      },
      others: await startAll(corpus, keep),
    };
    const rows: BenchRow[] = [];
    for (const each of BYTE_CASES) rows.push(...(await measureCase(bench, each)));
    return rows;
  } finally {
    await Promise.all(peers.map(async (peer) => await peer.stop()));
  }
}

async function startAll(corpus: Corpus, keep: (peer: Peer) => Peer): Promise<Peer[]> {
  const started: Peer[] = [];
  for (const kind of NODE_FILE_SERVERS) started.push(keep(await startNodePeer(kind, corpus.directory)));
  return started;
}

async function measureCase(bench: Bench, each: ByteCase): Promise<BenchRow[]> {
  const { options, corpus, placement } = bench;
  const slipway = bench.slipway[each.cache];
  const plan: LoadPlan = { ...each, seconds: options.quick ? 0.3 : 2 };
  const prepare = async (peer: Peer, exact: boolean): Promise<(seconds?: number) => Promise<Measured>> => {
    const requests: readonly CaseRequest[] = await verifyPeer(peer, each, { corpus, exact });
    return async (seconds = plan.seconds) =>
      await measurePeer({ peer, url: peer.url(each.file), requests }, { ...plan, seconds }, placement);
  };
  const ours = await prepare(slipway, true);
  const theirs = await prepare(bench.nginx, true);
  const others: OtherPeer[] = [];
  for (const peer of each.withOthers ? bench.others : []) {
    const measure = await prepare(peer, false);
    const measured: Measured[] = [];
    for (let round = 0; round < Math.min(OTHER_ROUNDS, options.rounds); round += 1) {
      measured.push(await measure(Math.min(OTHER_SECONDS, plan.seconds)));
    }
    others.push({ name: peer.name, measured });
  }
  const result = await runPairedRounds({
    rounds: options.rounds,
    quick: options.quick,
    ours: async () => await ours(),
    theirs: async () => await theirs(),
  });
  return rowsOfCase(each, result, { ours: slipway.name, theirs: bench.nginx.name, others });
}
