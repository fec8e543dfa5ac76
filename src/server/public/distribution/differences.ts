import pLimit from 'p-limit';
import { compareManifests, type ManifestDifference } from '../../../snapshot/manifest/compare-manifests.ts';
import type { ManifestIndex } from '../../../snapshot/manifest/manifest-index.ts';

/**
 * The difference between two loaded manifests.
 *
 * @param signal of the client. A comparison stops when all clients that wait for it are gone
 * @returns `null` where it is no better than the whole manifest, and where too many comparisons wait already
 * @throws the signal's reason
 */
export type FindDifference = (
  from: ManifestIndex,
  to: ManifestIndex,
  signal: AbortSignal,
) => Promise<ManifestDifference | null>;

/**
 * Memory of the differences that are kept, bytes; the ones asked for last stay. All edges ask for the same one after a switch, page by
 * page, and one client can ask for those of all pairs of releases. Each takes four bytes for each change, at most 256 KiB.
 */
const KEPT_BYTES = 16 * 1024 * 1024;
/** Memory of a kept difference beside its changes: two snapshot ids, and what holds them. At least as much as that takes. */
const PAIR_BYTES = 1024;

/**
 * Comparisons that run or wait. A comparison of large manifests takes a second, and a client that waited for more of them would read
 * the whole manifest sooner.
 */
const UNFINISHED_MAX = 4;

const NO_CHANGES: ManifestDifference = new Uint32Array();

interface Comparison {
  readonly result: Promise<ManifestDifference | null>;
  readonly stop: AbortController;
  waiting: number;
  /** Of the difference, once it is known. */
  bytes: number | null;
}

/** Makes the function, which keeps what it found. */
export function createDifferences(): FindDifference {
  const kept = new Map<string, Comparison>();
  let [keptBytes, unfinished] = [0, 0];
  // A comparison uses the event loop of the byte path.
  const serial = pLimit(1);

  const keep = (comparison: Comparison, found: ManifestDifference | null): void => {
    comparison.bytes = PAIR_BYTES + (found?.byteLength ?? 0);
    keptBytes += comparison.bytes;
    for (const [oldest, { bytes }] of kept) {
      if (keptBytes <= KEPT_BYTES) break;
      if (bytes === null) continue;
      kept.delete(oldest);
      keptBytes -= bytes;
    }
  };

  const begin = (key: string, from: ManifestIndex, to: ManifestIndex): Comparison => {
    const stop = new AbortController();
    unfinished += 1;
    const result = serial(async () => await compareManifests(from, to, stop.signal));
    const comparison: Comparison = { result, stop, waiting: 0, bytes: null };
    result.then(
      (found) => {
        unfinished -= 1;
        if (kept.get(key) === comparison) keep(comparison, found);
      },
      () => {
        unfinished -= 1;
        if (kept.get(key) === comparison) kept.delete(key);
      },
    );
    return comparison;
  };

  const find = (from: ManifestIndex, to: ManifestIndex): Comparison | null => {
    const key = `${from.snapshotId} ${to.snapshotId}`;
    const before = kept.get(key);
    const isUsable = before !== undefined && (before.bytes !== null || !before.stop.signal.aborted);
    if (!isUsable && unfinished >= UNFINISHED_MAX) return null;
    const comparison = isUsable ? before : begin(key, from, to);
    // The one asked for last is the last one in the map.
    kept.delete(key);
    kept.set(key, comparison);
    return comparison;
  };

  return async (from, to, signal) => {
    signal.throwIfAborted();
    if (from.snapshotId === to.snapshotId) return NO_CHANGES;
    const comparison = find(from, to);
    if (comparison === null) return null;
    comparison.waiting += 1;
    const gone = Promise.withResolvers<never>();
    const leave = (): void => {
      gone.reject(signal.reason as Error);
    };
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await Promise.race([comparison.result, gone.promise]);
    } finally {
      signal.removeEventListener('abort', leave);
      comparison.waiting -= 1;
      if (comparison.waiting === 0 && comparison.bytes === null) comparison.stop.abort();
    }
  };
}
