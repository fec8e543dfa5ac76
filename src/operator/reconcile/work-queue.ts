import { backoffMs, type BackoffOptions } from '../../platform/process/backoff.ts';
import type { Clock } from '../../platform/process/clock.ts';

/** Keys that want work, each at most once, and none twice at the same time. */
export interface WorkQueue {
  /** Wants work now. While the key is being worked on, it is worked on once more afterwards. */
  add(key: string): void;
  /** Wants work after `ms` milliseconds at the latest; an earlier wish stays. */
  addAfter(key: string, ms: number): void;
  /** Wants work after a pause that grows with each failure, and is not shorter than what the other party asked for. */
  addFailed(key: string, retryAfterMs: number | null): void;
  /** The work on the key succeeded: its failures are forgotten. */
  succeeded(key: string): void;
  /** Nothing more is wanted of the key. */
  forget(key: string): void;
  /** Keys that want work now. */
  readonly ready: number;
  /** Begins to hand out keys. */
  start(): void;
  /** Hands out no more keys and waits for the work that is going on. */
  stop(): Promise<void>;
}

/** What {@link createWorkQueue} needs. */
export interface WorkQueueOptions {
  /** Works on one key; its errors are its own business and must not be thrown. */
  readonly work: (key: string) => Promise<void>;
  /** Most keys that are worked on at the same time. */
  readonly concurrency: number;
  readonly backoff: BackoffOptions;
  readonly clock: Clock;
  /** 0 (inclusive) to 1, for jitter. */
  readonly random: () => number;
}

/** Makes a queue. Source: the semantics of client-go util/workqueue (dirty and processing sets, delaying, rate limiting). */
export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { clock } = options;
  const ready = new Set<string>();
  const active = new Map<string, Promise<void>>();
  /** When a key becomes ready, monotonic milliseconds. */
  const due = new Map<string, number>();
  const failures = new Map<string, number>();
  let running = false;
  let timer: { readonly at: number; readonly abort: AbortController } | null = null;

  const dispatch = (): void => {
    if (!running) return;
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
    due.delete(key);
    ready.add(key);
    dispatch();
  };

  const ripen = (): void => {
    timer = null;
    const now = clock.monotonic();
    for (const [key, at] of due) if (at <= now) addNow(key);
    arm();
  };

  /** Keeps one timer, for the key that is due first. */
  const arm = (): void => {
    let first = Infinity;
    for (const at of due.values()) first = Math.min(first, at);
    if (first === Infinity || (timer !== null && timer.at <= first)) return;
    timer?.abort.abort();
    const abort = new AbortController();
    timer = { at: first, abort };
    clock.sleep(Math.max(0, first - clock.monotonic()), abort.signal).then(ripen, () => undefined);
  };

  const addAfter = (key: string, ms: number): void => {
    if (ready.has(key)) return;
    const at = clock.monotonic() + ms;
    due.set(key, Math.min(at, due.get(key) ?? Infinity));
    arm();
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
      due.delete(key);
      ready.delete(key);
    },
    get ready() {
      return ready.size;
    },
    start: () => {
      running = true;
      dispatch();
    },
    stop: async () => {
      running = false;
      timer?.abort.abort();
      await Promise.all(active.values());
    },
  };
}
