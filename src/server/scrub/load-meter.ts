import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import type { Clock } from '../../platform/process/clock.ts';

/** Validity of one measurement, milliseconds. */
const WINDOW_MS = 1_000;

/**
 * Makes the function that measures how busy this server is, 0 to 1: the busy share of its event loop in the last
 * second, or the used share of the budget for bytes in flight, whichever is larger.
 */
export function createLoadMeter({
  clock,
  inFlight,
}: {
  readonly clock: Clock;
  readonly inFlight: { readonly load: number };
}): () => number {
  let since: EventLoopUtilization = performance.eventLoopUtilization();
  let measuredAt = clock.monotonic();
  let utilization = 0;
  return () => {
    const now = clock.monotonic();
    if (now - measuredAt >= WINDOW_MS) {
      const current = performance.eventLoopUtilization();
      ({ utilization } = performance.eventLoopUtilization(current, since));
      since = current;
      measuredAt = now;
    }
    return Math.max(utilization, inFlight.load);
  };
}
