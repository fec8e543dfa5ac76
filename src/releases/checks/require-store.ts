import { messageOf } from '../../platform/errors.ts';
import type { SnapshotWriter } from '../../snapshot/snapshot-writer.ts';
import { readStoreFormat } from '../../snapshot/volume/snapshot-store.ts';
import { TaskError } from '../../engine/tasks/task.ts';

/**
 * Checks that the volume still holds the store of this daemon. On a volume that is not mounted every file is missing,
 * which says nothing about the releases.
 *
 * @throws TaskError `store_unavailable` (retryable)
 */
export async function requireStore(root: string, writer: SnapshotWriter): Promise<void> {
  try {
    await writer.confirmVolume();
    await readStoreFormat(root);
  } catch (error) {
    throw new TaskError(
      'store_unavailable',
      `the snapshot volume cannot be used: ${messageOf(error)}; check the mount of snapshot.root`,
      { retryable: true, cause: error },
    );
  }
}
