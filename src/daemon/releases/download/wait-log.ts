import type { NoteWait } from '../../../mirror/attested-source.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import type { TaskContext } from '../../tasks/task.ts';

/** Shortest wait that gets a line, milliseconds: people do not notice shorter ones. */
const NOTED_MS = 5_000;

/**
 * Creates what writes the waits for upstream into the log of a task. Many downloads wait for the same reason at the same time, so a wait
 * that begins during another one gets no line.
 */
export function createWaitLog(clock: Pick<Clock, 'now'>, context: Pick<TaskContext, 'log'>): NoteWait {
  let until = 0;
  return (why, ms) => {
    const startedAt = clock.now();
    if (ms < NOTED_MS || startedAt < until) return;
    until = startedAt + ms;
    context.log('warn', `upstream is asked again at ${new Date(until).toISOString()}: ${why}`, {
      wait_ms: ms,
    });
  };
}
