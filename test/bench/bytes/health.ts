import type { BenchOptions, BenchRow } from '../bench-row.ts';
import { runPairedRounds } from '../paired-rounds.ts';
import { median } from '../statistics.ts';
import type { CaseRequest } from './byte-case.ts';
import { measurePeer, type LoadPlan } from './measure-peer.ts';
import { startNodePeer } from './node-peer.ts';
import type { Peer } from './peer.ts';
import { costNote, figuresOf } from './peer-figures.ts';
import type { Placement } from './placement.ts';

const TARGET = 5;
const CONNECTIONS = 32;

/** The probes of a server against a route of express that answers the same bytes. */
export async function measureHealth(
  slipway: Peer,
  { options, placement }: { readonly options: BenchOptions; readonly placement: Placement },
): Promise<BenchRow[]> {
  const plan: LoadPlan = {
    client: 'wrk',
    connections: CONNECTIONS,
    where: 'one',
    seconds: options.quick ? 1 : 2,
  };
  const rows: BenchRow[] = [];
  for (const path of ['/healthz', '/readyz']) {
    const body = await answerOf(slipway, path);
    const express = await startNodePeer('express route', body.toString());
    try {
      const echoed = await answerOf(express, path);
      if (!echoed.equals(body))
        throw new Error(`express answers ${path} with other bytes: ${echoed.toString()}`);
      const requests: readonly CaseRequest[] = [
        { method: 'GET', fields: {}, status: 200, body, range: null },
      ];
      const measure = async (peer: Peer) =>
        await measurePeer({ peer, url: peer.url(path), requests }, plan, placement);
      const { pairs, noisyRounds, isConclusive } = await runPairedRounds({
        rounds: options.rounds,
        quick: options.quick,
        ours: async () => await measure(slipway),
        theirs: async () => await measure(express),
      });
      const ratios = pairs.map(({ ours, theirs }) => ours.requestsPerSecond / theirs.requestsPerSecond);
      const mine = figuresOf(
        slipway.name,
        pairs.map(({ ours }) => ours),
      );
      const its = figuresOf(
        'express route',
        pairs.map(({ theirs }) => theirs),
      );
      rows.push({
        case: `bytes: ${path}`,
        value: median(ratios),
        unit: 'x express',
        target: `>= ${TARGET}`,
        pass: isConclusive ? median(ratios) >= TARGET : null,
        rounds: ratios,
        note: `wrk, ${CONNECTIONS} connections; ${costNote('requests', mine, its)}`,
        noisyRounds,
        peers: [mine, its],
      });
    } finally {
      await express.stop();
    }
  }
  return rows;
}

async function answerOf(peer: Peer, path: string): Promise<Buffer> {
  const answer = await fetch(peer.url(path));
  if (answer.status !== 200 || answer.headers.get('content-type')?.startsWith('application/json') !== true) {
    throw new Error(`${peer.name} answers ${path} with ${answer.status}`);
  }
  return Buffer.from(await answer.arrayBuffer());
}
