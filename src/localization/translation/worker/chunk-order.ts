import type { ChunkPlace, ClaimRequest } from '../work/leases/free-chunks.ts';
import type { RunSettings } from './run-settings.ts';

/** Goes through the chunks of a run once, in the order of work, and begins no more tasks than the run may. */
interface ChunkOrder {
  /** The request for the first chunk after the last one that was passed. */
  next(): ClaimRequest;
  /** Says which chunk answered the last request. */
  passed(place: ChunkPlace): void;
}

/** Creates the order of one run. */
export function createChunkOrder({
  owner,
  leaseSeconds,
  maxAttempts,
  taskId,
  maxTasks,
}: Pick<RunSettings, 'owner' | 'leaseSeconds' | 'maxAttempts' | 'taskId' | 'maxTasks'>): ChunkOrder {
  let after: ChunkPlace | null = null;
  let tasks = 0;
  return {
    next: () => {
      // Chunks come in the order of their tasks, so that the task of the last one is the last task that was begun.
      const untilTask = after !== null && tasks >= maxTasks ? after.taskSeq : null;
      return { owner, leaseSeconds, maxAttempts, taskId, after, untilTask };
    },
    passed: ({ taskSeq, number }) => {
      if (after?.taskSeq !== taskSeq) tasks += 1;
      after = { taskSeq, number };
    },
  };
}
