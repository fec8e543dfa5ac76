import type { Clock } from '../../platform/process/clock.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Registry } from '../../platform/metrics/metrics.ts';
import type { ServerConfiguration } from '../config/config.ts';
import type { Serving } from '../serving/serving.ts';
import { createLoadMeter } from './load-meter.ts';
import { createScrubDamage } from './scrub-damage.ts';
import { createScrubMetrics } from './scrub-metrics.ts';
import { createScrubber, type Scrubber } from './scrubber.ts';
import { createScrubStateFile, NO_STATE_STORE } from './scrub-state-file.ts';

export interface ServerScrubOptions {
  readonly serving: Serving;
  readonly pool: HashPool;
  readonly registry: Registry;
  /** Bytes in flight to clients. */
  readonly inFlight: { readonly load: number };
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** Puts the scrub of a server together as configured; `null` when it is switched off. */
export function createServerScrub(config: ServerConfiguration, options: ServerScrubOptions): Scrubber | null {
  const { enabled, bytesPerSecond, share, restSeconds, stateFile } = config.scrub;
  if (!enabled) return null;
  const { serving, pool, clock, random, logger, inFlight } = options;
  const found = createScrubDamage(serving);
  return createScrubber({
    serving,
    root: config.snapshot.root,
    pool,
    share: { bytesPerSecond, share },
    restSeconds,
    store: stateFile === undefined ? NO_STATE_STORE : createScrubStateFile({ path: stateFile, logger }),
    load: createLoadMeter({ clock, inFlight }),
    metrics: createScrubMetrics(options.registry, found),
    found,
    clock,
    random,
    logger,
  });
}
