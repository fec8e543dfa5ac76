import { messageOf } from '../../../platform/errors.ts';
import { readStoreFormat } from '../../../snapshot/volume/snapshot-store.ts';
import { TaskError } from '../../tasks/task.ts';

/**
 * Checks that the volume still holds the store of this daemon. On a volume that is not mounted every file is missing,
 * which says nothing about the releases.
 *
 * @throws TaskError `store_unavailable` (retryable)
 */
export async function requireStore(root: string, storeId: string): Promise<void> {
  const problem = await readStoreFormat(root).then(
    (format) => (format.store_id === storeId ? null : `it holds another store (${format.store_id})`),
    messageOf,
  );
  if (problem === null) return;
  throw new TaskError(
    'store_unavailable',
    `the snapshot volume ${root} cannot be used: ${problem}; check its mount`,
    {
      retryable: true,
    },
  );
}
