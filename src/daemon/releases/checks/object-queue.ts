/** A queue of items that holds each key at most once. */
export interface ObjectQueue<Key, Item> {
  /** Whether an item of this key waits or is in progress. */
  has(key: Key): boolean;
  /** Adds an item; returns false when the queue is full. */
  offer(key: Key, item: Item): boolean;
  /** Number of items that wait or are in progress. */
  readonly size: number;
  /** Drops the waiting items and resolves when the work in progress has ended. */
  stop(): Promise<void>;
}

export interface ObjectQueueOptions<Item> {
  /** Maximum number of waiting items. */
  readonly max: number;
  /** Maximum number of items in progress. */
  readonly concurrency: number;
  /** Must not reject; the signal is aborted by `stop`. */
  readonly work: (item: Item, signal: AbortSignal) => Promise<void>;
}

/** Creates an empty queue. */
export function createObjectQueue<Key, Item>({
  max,
  concurrency,
  work,
}: ObjectQueueOptions<Item>): ObjectQueue<Key, Item> {
  const stopping = new AbortController();
  const waiting = new Map<Key, Item>();
  const running = new Map<Key, Promise<void>>();

  const run = async (key: Key, item: Item): Promise<void> => {
    await work(item, stopping.signal);
    running.delete(key);
    startNext();
  };

  const startNext = (): void => {
    for (const [key, item] of waiting) {
      if (running.size >= concurrency || stopping.signal.aborted) return;
      waiting.delete(key);
      running.set(key, run(key, item));
    }
  };

  return {
    get size() {
      return waiting.size + running.size;
    },
    has: (key) => waiting.has(key) || running.has(key),
    offer: (key, item) => {
      if (waiting.size >= max) return false;
      waiting.set(key, item);
      startNext();
      return true;
    },
    stop: async () => {
      stopping.abort(new Error('the daemon is stopping'));
      waiting.clear();
      await Promise.all(running.values());
    },
  };
}
