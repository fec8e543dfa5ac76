import type { LoadOutcome } from './load-snapshot.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import { createLoadQueue } from './load-queue.ts';

/** Maximum number of missing entries to check one by one; with more, the worker reads the whole snapshot again. */
const MAX_SINGLE_PROBES = 1024;

/** Number of objects checked at the same time: half of the default thread pool; the byte path needs the rest. */
const PROBE_CONCURRENCY = 2;

/** Keeps the snapshots that the attestations name loaded, and checks the ones in trouble again. */
export interface SnapshotBinder {
  /** The last result of reading a snapshot; `null` during its first read, or if the snapshot is not wanted. */
  get(snapshotId: SnapshotId): LoadOutcome | null;
  all(): Iterable<readonly [SnapshotId, LoadOutcome]>;
  /** Sets the snapshots to hold, most urgent first. Keeps the loaded ones, drops all others and ends their reads. */
  want(snapshotIds: ReadonlySet<SnapshotId>): void;
  /** Drops all data read from the volume; wanted snapshots are read again. */
  invalidate(): void;
  recheck(): Promise<void>;
  stop(): Promise<void>;
}

export interface SnapshotBinderOptions {
  /** Reads and checks one snapshot off the event loop; throws only when the signal is aborted. */
  readonly load: (snapshotId: SnapshotId, signal: AbortSignal) => Promise<LoadOutcome>;
  readonly probe: (entry: ManifestEntry) => Promise<boolean>;
  /** Called after a wanted snapshot was read, or after some of its missing objects came back. */
  readonly onBound: (snapshotId: SnapshotId, outcome: LoadOutcome) => void;
}

/** Makes a binder that holds nothing yet. */
export function createSnapshotBinder({ load, probe, onBound }: SnapshotBinderOptions): SnapshotBinder {
  const bound = new Map<SnapshotId, LoadOutcome | null>();
  const settle = (snapshotId: SnapshotId, outcome: LoadOutcome): void => {
    if (!bound.has(snapshotId)) return;
    bound.set(snapshotId, outcome);
    onBound(snapshotId, outcome);
  };
  const queue = createLoadQueue(load, settle);

  const readAgain = (snapshotId: SnapshotId): void => {
    bound.set(snapshotId, null);
    queue.add(snapshotId);
  };

  const probeMissing = async (
    snapshotId: SnapshotId,
    outcome: LoadOutcome & { readonly ok: true },
  ): Promise<void> => {
    const { index, missing } = outcome;
    const positions = Array.from({ length: Math.min(missing.length, MAX_SINGLE_PROBES) }, (_, at) =>
      Number(missing[at]),
    );
    const still: number[] = [];
    for (let at = 0; at < positions.length; at += PROBE_CONCURRENCY) {
      const slice = positions.slice(at, at + PROBE_CONCURRENCY);
      const usable = await Promise.all(slice.map(async (position) => probe(index.entry(position))));
      still.push(...slice.filter((_, k) => usable[k] !== true));
    }
    if (still.length === positions.length || bound.get(snapshotId) !== outcome) return;
    if (positions.length < missing.length) {
      queue.add(snapshotId);
      await queue.run();
      return;
    }
    settle(snapshotId, { ok: true, index, missing: still });
  };

  return {
    get: (snapshotId) => bound.get(snapshotId) ?? null,
    all: () => [...bound].flatMap(([id, outcome]) => (outcome === null ? [] : [[id, outcome] as const])),
    want: (wanted) => {
      for (const snapshotId of bound.keys()) if (!wanted.has(snapshotId)) bound.delete(snapshotId);
      for (const snapshotId of wanted) if (!bound.has(snapshotId)) readAgain(snapshotId);
      queue.keepOnly(wanted);
      void queue.run();
    },
    invalidate: () => {
      queue.abort();
      for (const snapshotId of bound.keys()) readAgain(snapshotId);
      void queue.run();
    },
    recheck: async () => {
      for (const [snapshotId, outcome] of bound) if (outcome?.ok === false) queue.add(snapshotId);
      await queue.run();
      for (const [snapshotId, outcome] of bound) {
        if (outcome?.ok === true && outcome.missing.length > 0) await probeMissing(snapshotId, outcome);
      }
    },
    stop: async () => {
      await queue.stop();
    },
  };
}
