import type { JobDefinition } from './job.ts';
import type { TaskLane } from './task.ts';

/** The task that is next in its lane. */
export interface LaneHead {
  readonly taskId: string;
  readonly lane: TaskLane;
  /** Order in which tasks were accepted. */
  readonly seq: number;
  readonly storeLock: JobDefinition['storeLock'];
}

/** The tasks that hold the snapshot store. */
export interface StoreLockState {
  readonly shared: number;
  readonly exclusive: boolean;
}

/**
 * Chooses which heads of idle lanes can start together with what runs already. Earlier tasks go first, and one that
 * waits to have the store to itself is not overtaken by later ones that would share it.
 *
 * @param heads at most one for each idle lane
 * @param held who has the store now
 * @returns those to start, in order
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
