import type { SnapshotId } from '../../domain/release/digest.ts';
import { NO_TROUBLE, type EntryTrouble } from '../../domain/verdict/verdict.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';

/** Names of troubled entries that a message gives at most. */
export const TROUBLE_EXAMPLES = 5;

/** Missing entries that are looked at one by one; with more, the whole snapshot is read again in its worker. */
const MAX_SINGLE_PROBES = 1024;

/** Objects looked at at the same time: half of the default thread pool, the byte path needs the rest. */
const PROBE_CONCURRENCY = 2;

/** What is known of one snapshot from reading the volume. */
export interface BoundSnapshot {
  readonly snapshotId: SnapshotId;
  readonly manifest: 'loading' | 'ok' | 'missing' | 'damaged';
  /** Empty unless the manifest is missing or damaged. */
  readonly message: string;
  /** Present exactly when the manifest is `ok`. */
  readonly index: ManifestIndex | null;
  /** Positions of the entries that had no usable object when last looked at. */
  readonly missing: ArrayLike<number>;
  readonly missingTrouble: EntryTrouble;
}

/** The outcome of one attempt to read a snapshot. */
export type LoadOutcome =
  | { readonly ok: true; readonly index: ManifestIndex; readonly missing: ArrayLike<number> }
  | { readonly ok: false; readonly manifest: 'missing' | 'damaged'; readonly message: string };

/** Keeps the snapshots that the attestation names loaded, and looks again at what was in trouble. */
export interface SnapshotBinder {
  /** What is known of a snapshot, `null` when it is not wanted. */
  get(snapshotId: SnapshotId): BoundSnapshot | null;
  /** All that is known. */
  all(): Iterable<BoundSnapshot>;
  /** Names the snapshots to hold, most urgent first. Loaded ones are kept, others are dropped and their loads ended. */
  want(snapshotIds: readonly SnapshotId[]): void;
  /** Forgets everything read from the volume; what is wanted is read again. */
  invalidate(): void;
  /** Looks again at everything in trouble; resolves when that is done. */
  recheck(): Promise<void>;
  /** Ends all loads for good. */
  stop(): Promise<void>;
}

/** What {@link createSnapshotBinder} needs. */
export interface SnapshotBinderOptions {
  /** Reads and checks one snapshot off the event loop; throws only when the signal is aborted. */
  readonly load: (snapshotId: SnapshotId, signal: AbortSignal) => Promise<LoadOutcome>;
  /** Whether the object of an entry is present and of the right size. */
  readonly probe: (entry: ManifestEntry) => Promise<boolean>;
  /** Called after every change. */
  readonly onChange: () => void;
}

/** Makes a binder that holds nothing yet. Loads run one at a time: each already uses a core. */
export function createSnapshotBinder({ load, probe, onChange }: SnapshotBinderOptions): SnapshotBinder {
  const bound = new Map<SnapshotId, BoundSnapshot>();
  const queue = new Set<SnapshotId>();
  let active: { readonly snapshotId: SnapshotId; readonly abort: AbortController } | null = null;
  let pumping: Promise<void> = Promise.resolve();
  let isPumping = false;
  let stopped = false;

  const settle = (snapshotId: SnapshotId, outcome: LoadOutcome): void => {
    bound.set(
      snapshotId,
      outcome.ok
        ? {
            snapshotId,
            manifest: 'ok',
            message: '',
            index: outcome.index,
            missing: outcome.missing,
            missingTrouble: troubleOf(outcome.index, outcome.missing),
          }
        : { ...notLoaded(snapshotId, outcome.manifest), message: outcome.message },
    );
    onChange();
  };

  const loadQueued = async (): Promise<void> => {
    for (const snapshotId of queue) {
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
      if (outcome !== null && !abort.signal.aborted && bound.has(snapshotId)) settle(snapshotId, outcome);
    }
  };

  const pump = async (): Promise<void> => {
    try {
      await loadQueued();
    } finally {
      // In the same turn in which the queue was found empty, so that nothing queued after it is overlooked.
      isPumping = false;
    }
  };

  const start = (): Promise<void> => {
    if (isPumping || stopped || queue.size === 0) return pumping;
    isPumping = true;
    pumping = pump();
    return pumping;
  };

  const probeSlice = async (snapshot: BoundSnapshot, index: ManifestIndex): Promise<void> => {
    const positions = Array.from({ length: Math.min(snapshot.missing.length, MAX_SINGLE_PROBES) }, (_, i) =>
      Number(snapshot.missing[i]),
    );
    const still: number[] = [];
    for (let i = 0; i < positions.length; i += PROBE_CONCURRENCY) {
      const slice = positions.slice(i, i + PROBE_CONCURRENCY);
      const usable = await Promise.all(slice.map(async (position) => probe(index.entry(position))));
      still.push(...slice.filter((_, k) => usable[k] !== true));
    }
    if (still.length === positions.length || bound.get(snapshot.snapshotId) !== snapshot) return;
    if (positions.length < snapshot.missing.length) {
      queue.add(snapshot.snapshotId);
      await start();
      return;
    }
    settle(snapshot.snapshotId, { ok: true, index, missing: still });
  };

  return {
    get: (snapshotId) => bound.get(snapshotId) ?? null,
    all: () => bound.values(),
    want: (snapshotIds) => {
      const wanted = new Set(snapshotIds);
      for (const snapshotId of bound.keys()) {
        if (!wanted.has(snapshotId)) {
          bound.delete(snapshotId);
          queue.delete(snapshotId);
        }
      }
      if (active !== null && !wanted.has(active.snapshotId)) active.abort.abort();
      for (const snapshotId of wanted) {
        if (bound.has(snapshotId)) continue;
        bound.set(snapshotId, notLoaded(snapshotId, 'loading'));
        queue.add(snapshotId);
      }
      for (const snapshotId of wanted) {
        // Moves what waits to its place in the new order.
        if (queue.delete(snapshotId)) queue.add(snapshotId);
      }
      void start();
    },
    invalidate: () => {
      active?.abort.abort();
      for (const snapshotId of bound.keys()) {
        bound.set(snapshotId, notLoaded(snapshotId, 'loading'));
        queue.add(snapshotId);
      }
      onChange();
      void start();
    },
    recheck: async () => {
      for (const snapshot of bound.values()) {
        if (snapshot.manifest === 'missing' || snapshot.manifest === 'damaged')
          queue.add(snapshot.snapshotId);
      }
      await start();
      for (const snapshot of bound.values()) {
        if (snapshot.index !== null && snapshot.missing.length > 0)
          await probeSlice(snapshot, snapshot.index);
      }
    },
    stop: async () => {
      stopped = true;
      queue.clear();
      active?.abort.abort();
      await pumping;
    },
  };
}

function notLoaded(snapshotId: SnapshotId, manifest: 'loading' | 'missing' | 'damaged'): BoundSnapshot {
  return { snapshotId, manifest, message: '', index: null, missing: [], missingTrouble: NO_TROUBLE };
}

/** Counts troubled entries and names the first few. */
export function troubleOf(index: ManifestIndex, positions: ArrayLike<number>): EntryTrouble {
  if (positions.length === 0) return NO_TROUBLE;
  const examples = Array.from(
    { length: Math.min(positions.length, TROUBLE_EXAMPLES) },
    (_, i) => index.entry(Number(positions[i])).destination,
  );
  return { count: positions.length, examples };
}
