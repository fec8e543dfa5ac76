import pLimit from 'p-limit';
import { compareManifests, type ManifestDifference } from '../../../snapshot/manifest/compare-manifests.ts';
import type { ManifestIndex } from '../../../snapshot/manifest/manifest-index.ts';

/** The differences between loaded manifests. */
export interface Differences {
  /**
   * @param signal of the client. A comparison stops when all clients that wait for it are gone
   * @returns `null` where it is no better than the whole manifest
   * @throws the signal's reason
   */
  between(from: ManifestIndex, to: ManifestIndex, signal: AbortSignal): Promise<ManifestDifference | null>;
}

/**
 * Differences that are kept, the ones asked for last. All edges ask for the same one after a switch, page by page. Each takes four
 * bytes for each change, at most 256 KiB.
 */
const KEPT = 32;

interface Comparison {
  readonly result: Promise<ManifestDifference | null>;
  readonly stop: AbortController;
  waiting: number;
  isDone: boolean;
}

export function createDifferences(): Differences {
  const kept = new Map<string, Comparison>();
  // A comparison uses the event loop of the byte path.
  const serial = pLimit(1);

  const begin = (key: string, from: ManifestIndex, to: ManifestIndex): Comparison => {
    const stop = new AbortController();
    const result = serial(async () => await compareManifests(from, to, stop.signal));
    const comparison: Comparison = { result, stop, waiting: 0, isDone: false };
    result.then(
      () => {
        comparison.isDone = true;
      },
      () => {
        if (kept.get(key) === comparison) kept.delete(key);
      },
    );
    return comparison;
  };

  const find = (from: ManifestIndex, to: ManifestIndex): Comparison => {
    const key = `${from.snapshotId} ${to.snapshotId}`;
    const before = kept.get(key);
    const comparison = before === undefined || before.stop.signal.aborted ? begin(key, from, to) : before;
    // The one asked for last is the last one in the map.
    kept.delete(key);
    kept.set(key, comparison);
    for (const [oldest, { isDone }] of kept) {
      if (kept.size <= KEPT) break;
      if (isDone) kept.delete(oldest);
    }
    return comparison;
  };

  return {
    between: async (from, to, signal) => {
      signal.throwIfAborted();
      const comparison = find(from, to);
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
        if (comparison.waiting === 0 && !comparison.isDone) comparison.stop.abort();
      }
    },
  };
}
