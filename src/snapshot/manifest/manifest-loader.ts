import { randomInt } from 'node:crypto';
import type { SnapshotId } from '../../domain/release/digest.ts';
import { openThread } from '../../platform/threads/thread.ts';
import type { MissingObjects } from './check-objects.ts';
import { SnapshotFault } from '../volume/snapshot-fault.ts';
import { HASH_SEEDS } from './destination-hash.ts';
import { createManifestIndex, type ManifestIndex } from './manifest-index.ts';
import type { ManifestStore } from './manifest-worker.ts';

export interface LoadedManifest {
  readonly index: ManifestIndex;
  /** Nothing when the objects were not to be looked at. */
  readonly missing: MissingObjects;
}

interface LoadManifestOptions {
  readonly root: string;
  readonly snapshotId: SnapshotId;
  /** Whether to look at every object (its metadata, not its bytes). */
  readonly checkObjects: boolean;
  readonly signal?: AbortSignal | undefined;
}

const NONE_MISSING: MissingObjects = { count: 0, examples: [], indexes: new Uint32Array(0) };

/** MiB. The columns are outside of this heap: it holds only what parsing one line needs. */
const HEAP_LIMITS = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 128 };

/**
 * Loads a manifest in a separate thread, so that a large one does not block the event loop: reads it without
 * following links, verifies that its bytes have the digest that the snapshot id names, and parses it strictly.
 *
 * @throws SnapshotFault `missing` or `damaged`; the file system error with its `code` when the volume cannot be read; the
 *   signal's reason
 */
export async function loadManifest({
  root,
  snapshotId,
  checkObjects,
  signal,
}: LoadManifestOptions): Promise<LoadedManifest> {
  const thread = openThread<ManifestStore>({
    purpose: 'loads a manifest',
    module: new URL('./manifest-worker.ts', import.meta.url),
    limits: HEAP_LIMITS,
  });
  // Parsing does not look at the signal: ending its thread ends it.
  const close = (): void => void thread.close();
  signal?.addEventListener('abort', close, { once: true });
  try {
    const job = { root, snapshotId, checkObjects, seed: randomInt(1, HASH_SEEDS) };
    const outcome = await thread.calls.load(job, { signal });
    if (outcome.kind !== 'loaded') throw new SnapshotFault(outcome.kind, snapshotId, outcome.message);
    return { index: createManifestIndex(outcome.columns), missing: outcome.missing ?? NONE_MISSING };
  } finally {
    signal?.removeEventListener('abort', close);
    close();
  }
}
