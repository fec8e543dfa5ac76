import type { Clock } from '../../platform/process/clock.ts';

interface BoundedReadOptions<Value> {
  readonly read: () => Promise<Value>;
  /** Returns the result, or throws the error, of a call whose time has passed. */
  readonly onTimeout: () => Value;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/**
 * Makes a read of a volume whose callers never wait longer than the time limit, even when the mount hangs. During a read
 * that hangs it starts no other, which would fill the thread pool.
 */
export function createBoundedRead<Value>({
  read,
  onTimeout,
  clock,
  timeoutMs,
}: BoundedReadOptions<Value>): () => Promise<Value> {
  let pending: Promise<Value> | null = null;
  return async () => {
    pending ??= read().finally(() => {
      pending = null;
    });
    const finished = new AbortController();
    try {
      return await Promise.race([pending, clock.sleep(timeoutMs, finished.signal).then(onTimeout)]);
    } finally {
      finished.abort();
    }
  };
}
