import { backoffMs, type BackoffOptions } from '../../platform/process/backoff.ts';
import type { Clock } from '../../platform/process/clock.ts';

/** A queue of keys. A key is queued at most once, and no key is worked on twice at the same time. */
export interface WorkQueue {
  /** Queues a key. If it is being worked on, it is worked on once more afterwards. */
  add(key: string): void;
  /** Queues a key in `ms` milliseconds; an earlier time that is already set stays. */
  addAfter(key: string, ms: number): void;
  /** Queues a key after a pause that grows with each failure and is never shorter than `retryAfterMs`. */
  addFailed(key: string, retryAfterMs: number | null): void;
  succeeded(key: string): void;
  /** Forgets the failures and the timer of a key. One that is queued stays: its object may have been created again. */
  forget(key: string): void;
  readonly ready: number;
  start(): void;
  /** Hands out no more keys and waits for work in progress. */
  stop(): Promise<void>;
}

/** Makes a queue. Source: the semantics of client-go util/workqueue (dirty and processing sets, delaying, rate limiting). */
export function createWorkQueue(options: {
  /** Works on one key; must not throw. */
  readonly work: (key: string) => Promise<void>;
  readonly concurrency: number;
  readonly backoff: BackoffOptions;
  readonly clock: Clock;
  readonly random: () => number;
}): WorkQueue {
  const { clock } = options;
  const ready = new Set<string>();
  const active = new Map<string, Promise<void>>();
  const failures = new Map<string, number>();
  let isRunning = false;

  const dispatch = (): void => {
    if (!isRunning) return;
    for (const key of ready) {
      if (active.size >= options.concurrency) return;
      if (active.has(key)) continue;
      ready.delete(key);
      active.set(key, perform(key));
    }
  };

  const perform = async (key: string): Promise<void> => {
    try {
      await options.work(key);
    } finally {
      active.delete(key);
      dispatch();
    }
  };

  const addNow = (key: string): void => {
    delayed.forget(key);
    ready.add(key);
    dispatch();
  };
  const delayed = createDelayedKeys(clock, addNow);

  const addAfter = (key: string, ms: number): void => {
    if (!ready.has(key)) delayed.add(key, clock.monotonic() + ms);
  };

  return {
    add: addNow,
    addAfter,
    addFailed: (key, retryAfterMs) => {
      const count = (failures.get(key) ?? 0) + 1;
      failures.set(key, count);
      addAfter(key, backoffMs(count, options.backoff, options.random(), retryAfterMs));
    },
    succeeded: (key) => {
      failures.delete(key);
    },
    forget: (key) => {
      failures.delete(key);
      delayed.forget(key);
    },
    get ready() {
      return ready.size;
    },
    start: () => {
      isRunning = true;
      dispatch();
    },
    stop: async () => {
      isRunning = false;
      delayed.stop();
      await Promise.all(active.values());
    },
  };
}

/** Keys that become due later, with one timer for the first of them. */
interface DelayedKeys {
  /** @param at monotonic milliseconds; an earlier time that is already set stays */
  add(key: string, at: number): void;
  forget(key: string): void;
  stop(): void;
}

function createDelayedKeys(clock: Clock, onDue: (key: string) => void): DelayedKeys {
  const due = new Map<string, number>();
  let timer: { readonly at: number; readonly abort: AbortController } | null = null;

  const ring = (): void => {
    timer = null;
    const now = clock.monotonic();
    for (const [key, at] of due) {
      if (at > now) continue;
      due.delete(key);
      onDue(key);
    }
    arm();
  };

  const arm = (): void => {
    let first = Infinity;
    for (const at of due.values()) first = Math.min(first, at);
    if (first === Infinity || (timer !== null && timer.at <= first)) return;
    timer?.abort.abort();
    const abort = new AbortController();
    timer = { at: first, abort };
    clock.sleep(Math.max(0, first - clock.monotonic()), abort.signal).then(ring, () => undefined);
  };

  return {
    add: (key, at) => {
      due.set(key, Math.min(at, due.get(key) ?? Infinity));
      arm();
    },
    forget: (key) => {
      due.delete(key);
    },
    stop: () => {
      timer?.abort.abort();
    },
  };
}
