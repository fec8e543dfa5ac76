import { openThread } from '../../platform/threads/thread.ts';
import type { StructureStore } from './structure-worker.ts';

/** MiB. The memory of SQLite is not part of it. */
const HEAP_LIMITS = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 };

/**
 * Checks the structure of a database in a thread of its own, because SQLite blocks its thread for as long as it reads a
 * table. The thread ends with the check.
 *
 * @returns the first finding; `null` without one
 * @throws ThreadError; the error of SQLite for a file that is missing, or cannot be read and is not damaged
 */
export async function checkStructureInThread(path: string): Promise<string | null> {
  const thread = openThread<StructureStore>({
    purpose: 'checks the structure of a database',
    module: new URL('./structure-worker.ts', import.meta.url),
    limits: HEAP_LIMITS,
    givesWay: true,
  });
  try {
    return await thread.calls.check(path);
  } finally {
    await thread.close();
  }
}
