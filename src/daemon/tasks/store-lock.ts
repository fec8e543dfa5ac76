import type { StoreLockState } from './task-start-rules.ts';
import type { JobDefinition } from './job.ts';

/** The lock on the snapshot store across lanes: many shared holders or one exclusive holder. */
export interface StoreLock {
  state(): StoreLockState;
  /**
   * Acquires the lock.
   *
   * @returns a function that releases it; further calls do nothing
   * @throws Error when the lock is not available now; check `state` first
   */
  acquire(mode: JobDefinition['storeLock']): () => void;
}

/** Creates a free lock. */
export function createStoreLock(): StoreLock {
  let shared = 0;
  let exclusive = false;
  return {
    state: () => ({ shared, exclusive }),
    acquire: (mode) => {
      if (mode !== 'none' && (exclusive || (mode === 'exclusive' && shared > 0))) {
        throw new Error(
          `the store lock cannot be acquired (${mode}): ${shared} share it, exclusive: ${exclusive}`,
        );
      }
      if (mode === 'shared') shared += 1;
      if (mode === 'exclusive') exclusive = true;
      let released = false;
      return () => {
        if (released) return;
        released = true;
        if (mode === 'shared') shared -= 1;
        if (mode === 'exclusive') exclusive = false;
      };
    },
  };
}
