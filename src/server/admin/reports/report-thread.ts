import type { BoundedAnswer } from '../../../platform/http/http-client.ts';
import { createThread, ThreadError } from '../../../platform/threads/thread.ts';
import { DaemonUnavailable } from '../../daemon-client/daemon-unavailable.ts';
import type { ReportForwarder } from './report-forwarder.ts';
import type { ReportCalls, ReportOutcome, ReportThreadOptions } from './report-worker.ts';

/** Maximum number of reads in progress or waiting for a connection to the daemon. A waiting read holds no answer. */
const MAX_IN_FLIGHT = 512;

/** MiB; enough for the largest allowed report after parsing. */
const HEAP_LIMITS = { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: 256 };

/**
 * Makes a forwarder that works in its own thread, so that reading a report of several megabytes does not delay resource
 * bytes.
 *
 * @param limits of the thread's heap, MiB
 */
export function createReportThread(options: ReportThreadOptions, limits = HEAP_LIMITS): ReportForwarder {
  const thread = createThread<ReportCalls>({
    purpose: 'forwards reports',
    module: new URL('./report-worker.ts', import.meta.url),
    data: options,
    limits,
  });
  let inFlight = 0;
  let isClosed = false;
  return {
    timeoutMs: options.timeoutMs,
    forward: async ({ query, signal, ...read }) => {
      if (isClosed) throw new DaemonUnavailable('unreachable', 'the server is shutting down');
      if (inFlight >= MAX_IN_FLIGHT) {
        throw new DaemonUnavailable(
          'unreachable',
          `${MAX_IN_FLIGHT} reads are already waiting for the daemon`,
        );
      }
      inFlight += 1;
      try {
        return answerOf(await thread.call('forward', { ...read, query: query.toString() }, { signal }));
      } catch (cause) {
        if (!(cause instanceof ThreadError)) throw cause;
        throw new DaemonUnavailable('unreachable', cause.message, { cause });
      } finally {
        inFlight -= 1;
      }
    },
    close: async () => {
      isClosed = true;
      await thread.close();
    },
  };
}

function answerOf(outcome: ReportOutcome): BoundedAnswer {
  if (outcome.kind === 'unavailable') {
    const { code, message, status, daemonCode } = outcome;
    throw new DaemonUnavailable(code, message, { ...(status === null ? {} : { status }), daemonCode });
  }
  const { status, contentType, etag, body } = outcome;
  return { status, contentType, etag, body: Buffer.from(body.buffer) };
}
