import type { StoreLockState } from './task-start-rules.ts';
import type { JobDefinition } from './job.ts';

/** The lock on the snapshot store across lanes: many that share it, or one that has it to itself. */
export interface StoreLock {
  state(): StoreLockState;
  /**
   * Takes the lock.
   *
   * @returns gives it back; further calls do nothing
   * @throws Error when it cannot be had now; ask `state` first
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
