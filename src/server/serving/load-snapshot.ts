import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';
import { loadManifest } from '../../snapshot/manifest/manifest-loader.ts';
import { SnapshotFault } from '../../snapshot/volume/snapshot-fault.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';
import type { Logger } from '../../platform/logging/logging.ts';

/** The outcome of one attempt to read a snapshot. */
export type LoadOutcome =
  | {
      readonly ok: true;
      readonly index: ManifestIndex;
      /** Positions of the entries that had no usable object at the last check, ascending. */
      readonly missing: ArrayLike<number>;
    }
  | { readonly ok: false; readonly manifest: 'missing' | 'damaged'; readonly message: string };

/** Reads one manifest in a worker thread and checks whether each of its objects is present. */
export async function loadSnapshot(
  root: string,
  logger: Logger,
  snapshotId: SnapshotId,
  signal: AbortSignal,
): Promise<LoadOutcome> {
  try {
    const { index, missing } = await loadManifest({ root, snapshotId, checkObjects: true, signal });
    return { ok: true, index, missing: missing.indexes };
  } catch (error) {
    if (signal.aborted) throw error;
    logger.warn({ err: error, snapshot_id: snapshotId }, 'snapshot cannot be read');
    if (error instanceof SnapshotFault)
      return { ok: false, manifest: error.kind, message: `the manifest is ${error.kind}` };
    return {
      ok: false,
      manifest: 'missing',
      message: 'the manifest cannot be read; the log has the cause',
    };
  }
}
