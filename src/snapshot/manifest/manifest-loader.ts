import { randomInt } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import type { SnapshotId } from '../../domain/release/digest.ts';
import { HASH_SEEDS } from './destination-hash.ts';
import { SnapshotFault } from '../volume/snapshot-fault.ts';
import { createManifestIndex, type ManifestColumns, type ManifestIndex } from './manifest-index.ts';
import type { MissingObjects } from '../objects/object-check.ts';

/** What the worker is asked. */
export interface ManifestWorkerInput {
  readonly root: string;
  readonly snapshotId: SnapshotId;
  readonly checkObjects: boolean;
  /** Of the hash table, so that nobody can choose destinations that collide. */
  readonly seed: number;
}

/** What the worker answers. */
export type ManifestWorkerAnswer =
  | { readonly kind: 'loaded'; readonly columns: ManifestColumns; readonly missing: MissingObjects | null }
  | { readonly kind: 'missing' | 'damaged'; readonly message: string }
  | { readonly kind: 'failed'; readonly code: string | null; readonly message: string };

/** A manifest that was read from the volume, verified and, if asked, compared with the objects that are there. */
export interface LoadedManifest {
  readonly index: ManifestIndex;
  /** Nothing when the objects were not to be looked at. */
  readonly missing: MissingObjects;
}

/** What {@link loadManifest} loads. */
export interface LoadManifestOptions {
  readonly root: string;
  readonly snapshotId: SnapshotId;
  /** Whether to look at every object (its metadata, not its bytes). */
  readonly checkObjects: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** MiB. The columns are outside of this heap: it holds only what parsing one line needs. */
const HEAP_LIMITS = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 128 };

/**
 * Loads a manifest in a thread of its own, so that the event loop is free however large it is: reads it without
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
  signal?.throwIfAborted();
  const input: ManifestWorkerInput = { root, snapshotId, checkObjects, seed: randomInt(1, HASH_SEEDS) };
  const worker = new Worker(new URL('./manifest-worker.ts', import.meta.url), {
    workerData: input,
    execArgv: [],
    resourceLimits: HEAP_LIMITS,
  });
  const answer = await answerOf(worker, signal);
  switch (answer.kind) {
    case 'loaded':
      return {
        index: createManifestIndex(answer.columns),
        missing: answer.missing ?? { count: 0, examples: [], indexes: new Uint32Array(0) },
      };
    case 'failed':
      throw Object.assign(new Error(answer.message), answer.code === null ? {} : { code: answer.code });
    default:
      throw new SnapshotFault(answer.kind, snapshotId, answer.message);
  }
}

async function answerOf(worker: Worker, signal: AbortSignal | undefined): Promise<ManifestWorkerAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ManifestWorkerAnswer>();
  const onAbort = (): void => {
    reject(signal?.reason as Error);
    void worker.terminate();
  };
  worker.once('message', resolve);
  worker.once('error', reject);
  worker.once('exit', (code) => {
    reject(new Error(`the thread that loads the manifest ended with ${code} and without an answer`));
  });
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await promise;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}
