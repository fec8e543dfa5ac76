import { processorSeconds, residentBytes } from '../processor-time.ts';
import type { CaseRequest } from './byte-case.ts';
import { requestHead, runWrk, startSocketsLoad, type LoadResult } from './load.ts';
import type { Peer } from './peer.ts';
import type { Command, Placement } from './placement.ts';

/** The load on a peer. */
export interface LoadPlan {
  readonly client: 'wrk' | 'sockets';
  readonly connections: number;
  readonly where: 'one' | 'all';
  readonly seconds: number;
}

/** The result of a run on a peer, and its cost. */
export interface Measured {
  readonly requestsPerSecond: number;
  readonly bytesPerSecond: number;
  readonly cpuMicrosecondsPerRequest: number;
  /** A gigabyte is 10^9 bytes here. */
  readonly cpuSecondsPerGigabyte: number;
  readonly residentBytes: number;
}

/** Loads a peer for some seconds. */
export async function measurePeer(
  {
    peer,
    url,
    requests,
  }: { readonly peer: Peer; readonly url: string; readonly requests: readonly CaseRequest[] },
  plan: LoadPlan,
  placement: Placement,
): Promise<Measured> {
  placement.place(peer.pid, plan.where);
  const before = processorSeconds([peer.pid]);
  const done = await load(url, requests, plan, placement.client(plan.where));
  const cpu = processorSeconds([peer.pid]) - before;
  return {
    requestsPerSecond: done.requests / done.seconds,
    bytesPerSecond: done.bytes / done.seconds,
    cpuMicrosecondsPerRequest: (cpu * 1e6) / Math.max(1, done.requests),
    cpuSecondsPerGigabyte: (cpu * 1e9) / done.bytes,
    residentBytes: residentBytes([peer.pid]),
  };
}

async function load(
  url: string,
  requests: readonly CaseRequest[],
  { client, connections, seconds }: LoadPlan,
  command: Command,
): Promise<LoadResult> {
  const [first] = requests;
  if (first === undefined) throw new Error('nothing to ask');
  const bodyBytes = first.body.length;
  if (client === 'wrk') {
    return await runWrk({ url, connections, seconds, fields: first.fields, bodyBytes }, command);
  }
  const heads = requests.map(({ method, fields }) => requestHead(method, url, fields));
  const { status } = first;
  const running = startSocketsLoad(
    { port: Number(new URL(url).port), connections, seconds, heads, status, bodyBytes },
    command,
  );
  return await running.result;
}
