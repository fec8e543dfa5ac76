import type { LoadOutcome } from './load-snapshot.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';

/** Reads snapshots one at a time, because each read already uses a core. */
interface LoadQueue {
  add(snapshotId: SnapshotId): void;
  /** Drops all other snapshots, including the one being read, and sorts the queue into this order. */
  keepOnly(snapshotIds: ReadonlySet<SnapshotId>): void;
  abort(): void;
  /** Reads everything in the queue; resolves when the queue is empty. */
  run(): Promise<void>;
  stop(): Promise<void>;
}

/** Makes an empty queue. @param load throws only when the signal is aborted */
export function createLoadQueue(
  load: (snapshotId: SnapshotId, signal: AbortSignal) => Promise<LoadOutcome>,
  onLoaded: (snapshotId: SnapshotId, outcome: LoadOutcome) => void,
): LoadQueue {
  const queue = new Set<SnapshotId>();
  let active: { readonly snapshotId: SnapshotId; readonly abort: AbortController } | null = null;
  let running: Promise<void> = Promise.resolve();
  let isRunning = false;
  let stopped = false;

  const loadNext = async (snapshotId: SnapshotId): Promise<void> => {
    queue.delete(snapshotId);
    const abort = new AbortController();
    active = { snapshotId, abort };
    const outcome = await load(snapshotId, abort.signal).catch((error: unknown): LoadOutcome | null =>
      abort.signal.aborted
        ? null
        : {
            ok: false,
            manifest: 'missing',
            message: `the manifest cannot be read (${error instanceof Error ? error.name : 'unknown error'})`,
          },
    );
    active = null;
    if (outcome !== null && !abort.signal.aborted) onLoaded(snapshotId, outcome);
  };

  const loadAll = async (): Promise<void> => {
    try {
      for (const snapshotId of queue) await loadNext(snapshotId);
    } finally {
      // In the turn that found the queue empty, so that a snapshot queued later is not overlooked.
      isRunning = false;
    }
  };

  return {
    add: (snapshotId) => {
      queue.add(snapshotId);
    },
    keepOnly: (wanted) => {
      for (const snapshotId of queue) if (!wanted.has(snapshotId)) queue.delete(snapshotId);
      if (active !== null && !wanted.has(active.snapshotId)) active.abort.abort();
      for (const snapshotId of wanted) if (queue.delete(snapshotId)) queue.add(snapshotId);
    },
    abort: () => active?.abort.abort(),
    run: async () => {
      if (!isRunning && !stopped && queue.size > 0) {
        isRunning = true;
        running = loadAll();
      }
      await running;
    },
    stop: async () => {
      stopped = true;
      queue.clear();
      active?.abort.abort();
      await running;
    },
  };
}
