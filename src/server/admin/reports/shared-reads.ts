import type { BoundedAnswer } from '../../../platform/http/http-client.ts';
import { DaemonUnavailable } from '../../daemon-client/daemon-unavailable.ts';
import type { ForwardedRead, ReportForwarder } from './report-forwarder.ts';

/** A read that is forwarded once for all its callers. */
interface SharedRead {
  /** The read of its first caller. */
  readonly read: ForwardedRead;
  readonly answer: PromiseWithResolvers<BoundedAnswer>;
  /** Aborted when all callers have left. */
  readonly abandoned: AbortController;
  callers: number;
}

/** The reads of one report with one query. */
interface ReadLine {
  running: SharedRead;
  /** Starts when the current read has ended. */
  next: SharedRead | null;
}

/**
 * Lets callers that ask for the same report share one read of the daemon. For each report and query, one read runs at a
 * time. A caller that arrives during a read joins the next one, so no caller gets data older than its request. The
 * daemon sees the request id of the first caller. Each caller waits at most `timeoutMs`, the wait for an earlier read
 * included.
 *
 * @param forwarder asks the daemon; the signal of a read is aborted when all its callers have left
 * @returns a function that throws DaemonUnavailable, or the reason of the caller's signal
 */
export function shareReads(
  forwarder: Pick<ReportForwarder, 'forward' | 'timeoutMs'>,
): (read: ForwardedRead) => Promise<BoundedAnswer> {
  const { timeoutMs } = forwarder;
  const lines = new Map<string, ReadLine>();

  const run = (key: string, shared: SharedRead): void => {
    const line: ReadLine = { running: shared, next: null };
    lines.set(key, line);
    const { read, answer, abandoned } = shared;
    const runNext = (): void => {
      if (line.next === null) lines.delete(key);
      else run(key, line.next);
    };
    void forwarder
      .forward({ ...read, signal: abandoned.signal })
      .then(answer.resolve, answer.reject)
      .finally(runNext);
  };

  const join = (key: string, read: ForwardedRead): SharedRead => {
    const line = lines.get(key);
    if (line === undefined) {
      const shared = createSharedRead(read);
      run(key, shared);
      return shared;
    }
    line.next ??= createSharedRead(read);
    return line.next;
  };

  const leave = (key: string, shared: SharedRead, reason: unknown): void => {
    shared.callers -= 1;
    if (shared.callers > 0) return;
    const line = lines.get(key);
    if (line?.next === shared) line.next = null;
    shared.abandoned.abort(reason);
  };

  return async (read) => {
    const { signal } = read;
    signal.throwIfAborted();
    const key = `${read.report}?${read.query.toString()}`;
    const shared = join(key, read);
    shared.callers += 1;
    const { promise, resolve, reject } = Promise.withResolvers<BoundedAnswer>();
    const giveUp = (reason: unknown): void => {
      leave(key, shared, reason);
      reject(reason);
    };
    const onAbort = (): void => {
      giveUp(signal.reason);
    };
    const timer = setTimeout(() => {
      giveUp(new DaemonUnavailable('timeout', `the daemon gave no complete answer within ${timeoutMs} ms`));
    }, timeoutMs);
    signal.addEventListener('abort', onAbort, { once: true });
    shared.answer.promise.then(resolve, reject);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  };
}

function createSharedRead(read: ForwardedRead): SharedRead {
  return {
    read,
    answer: Promise.withResolvers<BoundedAnswer>(),
    abandoned: new AbortController(),
    callers: 0,
  };
}
