import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import type { Clock } from '../../platform/process/clock.ts';

/** How long one measurement counts, milliseconds. */
const WINDOW_MS = 1_000;

/**
 * Makes the function that says how busy this server is, 0 to 1: how much of the last second its event loop was at work,
 * or how much of the memory for bytes on their way to clients is used, whichever is more.
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
