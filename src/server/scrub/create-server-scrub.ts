import { performance, type EventLoopUtilization } from 'node:perf_hooks';

import type { Clock } from '../../platform/process/clock.ts';
import type { ServerParts } from '../assemble-server.ts';
import type { ServerConfiguration } from '../config/config.ts';
import type { Serving } from '../serving/serving.ts';
import { ScrubDamage } from './scrub-damage.ts';
import { createScrubMetrics } from './scrub-metrics.ts';
import { createScrubber, type Scrubber } from './scrubber.ts';
import { createScrubStateFile, NO_STATE_STORE } from './scrub-state-file.ts';

/**
 * Puts the scrub of a server together as configured; `null` when it is switched off.
 *
 * @param server.inFlight bytes in flight to clients
 */
export function createServerScrub(
  config: ServerConfiguration,
  { pool, registry, clock, random, logger }: ServerParts,
  { serving, inFlight }: { serving: Serving; inFlight: { readonly load: number } },
): Scrubber | null {
  const { enabled, bytesPerSecond, share, restSeconds, stateFile } = config.scrub;
  if (!enabled) return null;
  const found = new ScrubDamage(serving);
  return createScrubber({
    serving,
    root: config.snapshot.root,
    pool,
    share: { bytesPerSecond, share },
    restSeconds,
    store: stateFile === undefined ? NO_STATE_STORE : createScrubStateFile(stateFile, logger),
    load: createLoadMeter(clock, inFlight),
    metrics: createScrubMetrics(registry, found),
    found,
    clock,
    random,
    logger,
  });
}

const WINDOW_MS = 1_000;

/**
 * Makes the function that measures how busy this server is, 0 to 1: the busy share of its event loop in the last
 * second, or the used share of the budget for bytes in flight, whichever is larger.
 */
function createLoadMeter(clock: Clock, inFlight: { readonly load: number }): () => number {
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
