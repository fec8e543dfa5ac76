import { setPriority, constants } from 'node:os';
import process from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import { readDaemonToken } from '../../daemon-client/daemon-token.ts';
import { DaemonUnavailable } from '../../daemon-client/daemon-unavailable.ts';
import { createReportForwarder } from './report-forwarder.ts';
import type { ReportOrder, ReportOutcome, ReportWorkerData } from './report-messages.ts';

// Forwards reports in a thread of its own: see report-thread.ts.

type ForwardOrder = Extract<ReportOrder, { kind: 'forward' }>;

const { tokenFile, ...daemon } = workerData as ReportWorkerData;
const forwarder = createReportForwarder({
  ...daemon,
  readToken: async () => await readDaemonToken(tokenFile),
});
const waited = new Map<number, AbortController>();

function yieldToBytes(): void {
  // Only there is it the priority of this thread alone.
  if (process.platform !== 'linux') return;
  try {
    setPriority(constants.priority.PRIORITY_LOW);
  } catch {
    // Where that is forbidden, reports compete with bytes for the processor.
  }
}

async function forward({ id, report, query, requestId, via }: ForwardOrder): Promise<void> {
  const gone = new AbortController();
  waited.set(id, gone);
  let outcome: ReportOutcome;
  try {
    const { body, ...answer } = await forwarder.forward({
      report,
      query: new URLSearchParams(query),
      requestId,
      via,
      signal: gone.signal,
    });
    // A copy of its own: what came from the network may be a part of something larger.
    outcome = { kind: 'answer', id, ...answer, body: new Uint8Array(body) };
  } catch (error) {
    outcome = failureOf(id, error);
  }
  if (!waited.delete(id)) return;
  parentPort?.postMessage(outcome, outcome.kind === 'answer' ? [outcome.body.buffer] : []);
}

function failureOf(id: number, error: unknown): ReportOutcome {
  if (error instanceof DaemonUnavailable) {
    const { code, message, status, daemonCode } = error;
    return { kind: 'unavailable', id, code, message, status, daemonCode };
  }
  return {
    kind: 'failed',
    id,
    stack: error instanceof Error ? (error.stack ?? error.message) : String(error),
  };
}

yieldToBytes();
parentPort?.on('message', (order: ReportOrder) => {
  if (order.kind === 'forward') {
    void forward(order);
    return;
  }
  const gone = waited.get(order.id);
  waited.delete(order.id);
  gone?.abort();
});
