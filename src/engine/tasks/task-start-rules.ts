import type { JobDefinition } from './job.ts';
import type { TaskLane } from './task.ts';

/** A task that may start: the next one of an idle lane, or of a kind that runs beside its lane. */
export interface LaneHead {
  readonly taskId: string;
  /** The lane that the task occupies; `null` for a task beside its lane. */
  readonly lane: TaskLane | null;
  /** The order in which tasks were accepted. */
  readonly seq: number;
  readonly storeLock: JobDefinition['storeLock'];
}

/** The tasks that hold the lock on the snapshot store. */
export interface StoreLockState {
  readonly shared: number;
  readonly exclusive: boolean;
}

/**
 * Chooses which heads of idle lanes can start beside the running tasks. Earlier tasks start first. While a task waits
 * for the exclusive lock, later tasks that would share it do not start.
 *
 * @param heads at most one for each idle lane and each kind beside the lanes
 * @param held the current holders of the store
 * @returns the heads to start, in order
 */
export function chooseStarts(heads: readonly LaneHead[], held: StoreLockState): readonly LaneHead[] {
  let { shared, exclusive } = held;
  let exclusiveWaits = false;
  const chosen: LaneHead[] = [];
  for (const head of heads.toSorted((left, right) => left.seq - right.seq)) {
    if (head.storeLock === 'none') {
      chosen.push(head);
    } else if (head.storeLock === 'shared' && !exclusive && !exclusiveWaits) {
      shared += 1;
      chosen.push(head);
    } else if (head.storeLock === 'exclusive' && !exclusive && shared === 0 && !exclusiveWaits) {
      exclusive = true;
      chosen.push(head);
    } else if (head.storeLock === 'exclusive') {
      exclusiveWaits = true;
    }
  }
  return chosen;
}
