import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import type { TaskEngine } from '../../tasks/task-engine.ts';

/**
 * Prefix of the staging directories of syncs. They are kept after a failed task so that the next one can resume the
 * downloads in them.
 */
export const SYNC_STAGING_PREFIX = 'sync-';

/** Maximum number of tasks searched for one that may still use a staging directory. */
const RECENT_TASKS = 500;

const ENDED = new Set(['succeeded', 'failed', 'cancelled']);

/**
 * Removes the staging directories that no task will use again.
 *
 * @returns the number of removed directories
 */
export async function removeDeadStaging(deps: {
  readonly writer: Pick<SnapshotWriter, 'listStaging' | 'removeStaging'>;
  readonly engine: Pick<TaskEngine, 'get' | 'list'>;
}): Promise<number> {
  const { writer, engine } = deps;
  const syncPending = engine
    .list(RECENT_TASKS)
    .some((task) => task.kind === 'sync' && !ENDED.has(task.status));
  let removed = 0;
  for (const name of await writer.listStaging()) {
    const task = engine.get(name);
    const used = name.startsWith(SYNC_STAGING_PREFIX)
      ? syncPending
      : task !== null && !ENDED.has(task.status);
    if (used) continue;
    await writer.removeStaging(name);
    removed += 1;
  }
  return removed;
}
