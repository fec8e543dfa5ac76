import { Worker } from 'node:worker_threads';
import type { BoundedAnswer } from '../../daemon-client/bounded-answer.ts';
import { DaemonUnavailable } from '../../daemon-client/daemon-unavailable.ts';
import type { ForwardedRead, ReportForwarder } from './report-forwarder.ts';
import type { ReportOrder, ReportOutcome, ReportWorkerData } from './report-messages.ts';

/**
 * Reads that may be under way or wait for the daemon: a hundred operators whose pages ask at the same moment find room.
 * One that waits holds no answer.
 */
const MAX_IN_FLIGHT = 512;

/** MiB. The largest report that is allowed, parsed, finds room; a heap that overflows ends this thread and no other. */
const HEAP_LIMITS = { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: 256 };

/** Who waits for an outcome. */
interface Waiting {
  readonly resolve: (answer: BoundedAnswer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Makes a forwarder that works in a thread of its own, at low priority: what operators ask for must not delay the bytes,
 * neither by the work of asking nor by reading a report of megabytes. The thread starts with the first read, and again
 * after it ended for whatever reason.
 *
 * @param heapLimits of the thread, MiB
 */
export function createReportThread(data: ReportWorkerData, heapLimits = HEAP_LIMITS): ReportForwarder {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | null = null;
  let lastId = 0;
  let isClosed = false;

  const settle = (outcome: ReportOutcome): void => {
    const waits = waiting.get(outcome.id);
    forget(outcome.id);
    if (waits === undefined) return;
    if (outcome.kind === 'answer') waits.resolve(answerOf(outcome));
    else waits.reject(errorOf(outcome));
  };

  const forget = (id: number): void => {
    waiting.delete(id);
    // An idle thread must not keep the process alive; a read does.
    if (waiting.size === 0) worker?.unref();
  };

  const start = (): Worker => {
    const started = new Worker(new URL('./report-worker.ts', import.meta.url), {
      workerData: data,
      execArgv: [],
      resourceLimits: heapLimits,
    });
    const end = (why: string, cause?: unknown): void => {
      if (worker !== started) return;
      worker = null;
      const lost = [...waiting.values()];
      waiting.clear();
      for (const { reject } of lost) reject(new DaemonUnavailable('unreachable', why, { cause }));
    };
    started.on('message', settle);
    started.on('error', (error) => {
      end(`the thread that forwards reports crashed: ${String(error)}`, error);
    });
    started.on('exit', (code) => {
      end(`the thread that forwards reports ended with ${code}`);
    });
    return started;
  };

  const post = (order: ReportOrder): void => worker?.postMessage(order);

  const exchange = async (read: ForwardedRead): Promise<BoundedAnswer> => {
    const { report, query, requestId, via, signal } = read;
    lastId += 1;
    const id = lastId;
    let drop = (): void => undefined;
    try {
      return await new Promise<BoundedAnswer>((resolve, reject) => {
        drop = () => {
          if (!waiting.has(id)) return;
          forget(id);
          post({ kind: 'drop', id });
          reject(signal.reason as Error);
        };
        waiting.set(id, { resolve, reject });
        worker ??= start();
        worker.ref();
        post({ kind: 'forward', id, report, query: query.toString(), requestId, via });
        signal.addEventListener('abort', drop);
      });
    } finally {
      signal.removeEventListener('abort', drop);
    }
  };

  return {
    forward: async (read) => {
      read.signal.throwIfAborted();
      if (isClosed) throw new DaemonUnavailable('unreachable', 'the server is shutting down');
      if (waiting.size >= MAX_IN_FLIGHT) {
        throw new DaemonUnavailable('unreachable', `${MAX_IN_FLIGHT} reads wait for the daemon already`);
      }
      return await exchange(read);
    },
    close: async () => {
      isClosed = true;
      await worker?.terminate();
    },
  };
}

function answerOf({
  status,
  contentType,
  etag,
  body,
}: Extract<ReportOutcome, { kind: 'answer' }>): BoundedAnswer {
  return { status, contentType, etag, body: Buffer.from(body.buffer) };
}

function errorOf(outcome: Exclude<ReportOutcome, { kind: 'answer' }>): Error {
  if (outcome.kind === 'failed') return new Error(`a report could not be forwarded: ${outcome.stack}`);
  const { code, message, status, daemonCode } = outcome;
  return new DaemonUnavailable(code, message, { ...(status === null ? {} : { status }), daemonCode });
}
