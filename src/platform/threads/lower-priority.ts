import { constants, getPriority, setPriority } from 'node:os';
import process from 'node:process';

/**
 * Lowers the priority of the calling thread: while all processors are busy, it gets about a tenth of the time of a thread that answers
 * requests, and as much as it wants otherwise. Does nothing where a thread has no priority of its own, or where the system
 * does not allow it.
 *
 * Source: setpriority(2), "C library/kernel differences"; sched(7), "The nice value".
 */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return;
  try {
    const { PRIORITY_BELOW_NORMAL: lower, PRIORITY_LOW: lowest } = constants.priority;
    setPriority(Math.min(getPriority() + lower, lowest));
  } catch {
    // The work then competes with serving for processor time.
  }
}
