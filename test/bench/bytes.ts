import { join } from 'node:path';
import { hasTool } from '../support/tools.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { BYTE_CASES, type ByteCase, type CaseRequest, type ComparedPeer } from './bytes/byte-case.ts';
import { writeCorpus, type Corpus } from './bytes/corpus.ts';
import { measurePeer, type LoadPlan, type Measured } from './bytes/measure-peer.ts';
import { startNginxPeer } from './bytes/nginx-peer.ts';
import { startNodePeer } from './bytes/node-peer.ts';
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
  readonly slipway: Readonly<Record<ByteCase['cache'], Peer>>;
  readonly peers: Readonly<Record<ComparedPeer, Peer>>;
  /** Servers that no case is judged by. */
  readonly others: readonly Peer[];
}

/**
 * Resource bytes of the real server, with metrics and verification and without access log, against servers with one worker
 * that do the same work.
 */
export async function run(options: BenchOptions): Promise<BenchRow[]> {
  return await runCases(options, BYTE_CASES);
}

/** Measures some of the cases. */
export async function runCases(options: BenchOptions, cases: readonly ByteCase[]): Promise<BenchRow[]> {
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
      slipway: {
        default: await site.startServer('Slipway'),
        none: await site.startServer('Slipway without cache', { cache: { blockBytes: 0 } }),
      },
      peers: {
        nginx: keep(await startNginxPeer(join(directory, 'nginx'), corpus.directory)),
        'node:http': keep(await startNodePeer('node:http', corpus.directory)),
        pread: keep(await startNodePeer('pread', corpus.directory)),
      },
      others: [
        keep(await startNodePeer('express.static', corpus.directory)),
        keep(await startNodePeer('sirv', corpus.directory)),
      ],
    };
    const rows: BenchRow[] = [];
    for (const each of cases) rows.push(...(await measureCase(bench, each)));
    return rows;
  } finally {
    await Promise.all(peers.map(async (peer) => await peer.stop()));
  }
}

async function measureCase(bench: Bench, each: ByteCase): Promise<BenchRow[]> {
  const { options, corpus, placement, peers } = bench;
  const slipway = bench.slipway[each.cache];
  const judge = peers[each.peer];
  const plan: LoadPlan = { ...each, seconds: options.quick ? 0.3 : 2 };
  const prepare = async (peer: Peer, exact: boolean): Promise<(seconds?: number) => Promise<Measured>> => {
    const requests: readonly CaseRequest[] = await verifyPeer(peer, each, { corpus, exact });
    return async (seconds = plan.seconds) =>
      await measurePeer({ peer, url: peer.url(each.file), requests }, { ...plan, seconds }, placement);
  };
  const ours = await prepare(slipway, true);
  const theirs = await prepare(judge, each.peer === 'nginx');
  const others: OtherPeer[] = [];
  const reported = each.withOthers ? [peers.nginx, peers['node:http'], ...bench.others] : [peers.nginx];
  for (const peer of reported.filter((other) => other !== judge)) {
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
  return rowsOfCase(each, result, { ours: slipway.name, theirs: judge.name, others });
}
