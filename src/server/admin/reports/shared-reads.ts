import type { BoundedAnswer } from '../../../platform/http/http-client.ts';
import type { ForwardedRead } from './report-forwarder.ts';

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
 * daemon sees the request id of the first caller.
 *
 * @param forward asks the daemon; its signal is aborted when all callers of a read have left
 */
export function shareReads(
  forward: (read: ForwardedRead) => Promise<BoundedAnswer>,
): (read: ForwardedRead) => Promise<BoundedAnswer> {
  const lines = new Map<string, ReadLine>();

  const run = (key: string, shared: SharedRead): void => {
    const line: ReadLine = { running: shared, next: null };
    lines.set(key, line);
    const { read, answer, abandoned } = shared;
    const runNext = (): void => {
      if (line.next === null) lines.delete(key);
      else run(key, line.next);
    };
    void forward({ ...read, signal: abandoned.signal })
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
    const onAbort = (): void => {
      leave(key, shared, signal.reason);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    shared.answer.promise.then(resolve, reject);
    try {
      return await promise;
    } finally {
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
