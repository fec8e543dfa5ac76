import type { DamageKind } from '../../domain/verdict/damage-kind.ts';
import { pause } from '../../platform/process/pause.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';
import { byteFaultOf, type ByteFault } from '../bytes/byte-fault.ts';
import type { Serving } from '../serving/serving.ts';
import type { ScrubDamage } from './scrub-damage.ts';
import type { ScrubMetrics } from './scrub-metrics.ts';
import { scrubObject } from './scrub-object.ts';
import { objectsOfStep, type ScrubObject, type ScrubRelease } from './scrub-order.ts';
import { restAfter, ScrubPace, type ScrubShare } from './scrub-pace.ts';
import { createScrubProgress, type ScrubProgress } from './scrub-progress.ts';
import { stepOf } from './scrub-state.ts';
import type { ScrubStateStore } from './scrub-state-file.ts';

const IDLE_MS = 1_000;
/** Tries for an object that could not be read because the server was busy, and the milliseconds between them. */
const TRIES = 3;
const RETRY_MS = 1_000;
/** Maximum number of damaged objects of one pass to log one by one. */
const LOGGED_DAMAGE = 100;
/** Milliseconds until the scrub retries after an unexpected error. */
const FAILURE_MS = 60_000;

/** Continuously reads everything that is served. */
export interface Scrubber {
  start(): void;
  /** Stops it; resolves when it has closed its file and saved its position. */
  stop(): Promise<void>;
}

interface ScrubberOptions {
  readonly serving: Serving;
  readonly root: string;
  readonly pool: HashPool;
  readonly share: ScrubShare;
  /** Seconds between the end of a pass and the beginning of the next. */
  readonly restSeconds: number;
  readonly store: ScrubStateStore;
  /** How busy the server is, 0 to 1. */
  readonly load: () => number;
  readonly metrics: ScrubMetrics;
  readonly found: ScrubDamage;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * Makes the scrub. It finds damage in bytes before a client requests them. A pass goes through the digests in order,
 * once around. Without a stored position it starts at a random one, so that a server that is restarted often still
 * reaches every object.
 */
export function createScrubber(options: ScrubberOptions): Scrubber {
  const { clock, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const progress = createScrubProgress(options);
  const inspect = createScrubInspection(options, progress, signal);
  let running: Promise<void> = Promise.resolve();

  const step = async (): Promise<void> => {
    const { state } = progress;
    inspect.beginWork();
    const objects = await objectsOfStep(servedReleases(options.serving), stepOf(state), state.after);
    await inspect.rest(0);
    for (const object of objects) {
      signal.throwIfAborted();
      if (!isServed(options.serving, object.index)) continue;
      inspect.beginWork();
      const isDamaged = await inspect.look(object);
      options.metrics.objects.inc();
      await inspect.rest(0);
      await progress.finishObject(object.blake3, isDamaged);
    }
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      if (servedReleases(options.serving).length === 0) {
        await clock.sleep(IDLE_MS, signal);
        continue;
      }
      await step();
      if (await progress.finishStep()) continue;
      await progress.finishPass();
      await clock.sleep(options.restSeconds * 1000, signal);
      await progress.beginPass();
    }
  };

  const runUntilStopped = async (): Promise<void> => {
    await progress.load();
    while (!signal.aborted) {
      try {
        await run();
      } catch (error) {
        if (signal.aborted) break;
        logger.error({ err: error }, 'the scrub failed; retrying later');
        await pause(clock, FAILURE_MS, signal);
      }
    }
    await progress.save();
  };

  return {
    start: () => {
      running = runUntilStopped();
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

function servedReleases(serving: ScrubberOptions['serving']): readonly ScrubRelease[] {
  return [...serving.state().byReleaseId.values()];
}

function isServed(serving: ScrubberOptions['serving'], index: ManifestIndex): boolean {
  return servedReleases(serving).some((release) => release.index === index);
}

interface ScrubInspection {
  /** Marks the start of work for which {@link rest} compensates. */
  beginWork(): void;
  rest(bytes: number): Promise<void>;
  look(object: ScrubObject): Promise<boolean>;
}

function createScrubInspection(
  options: ScrubberOptions,
  progress: ScrubProgress,
  signal: AbortSignal,
): ScrubInspection {
  const { serving, metrics, clock, logger } = options;
  const pace = new ScrubPace();
  let workingSince = 0;

  const beginWork = (): void => {
    workingSince = clock.monotonic();
  };

  const rest = async (bytes: number): Promise<void> => {
    const ms = clock.monotonic() - workingSince;
    const restMs = pace.pauseFor(restAfter({ bytes, ms }, options.share, options.load()));
    if (restMs > 0) await clock.sleep(restMs, signal);
    beginWork();
  };

  const report = (object: ScrubObject, { kind, message }: ByteFault & { kind: DamageKind }): boolean => {
    // A release that is no longer served may have been cleaned up while its object was being read.
    if (!isServed(serving, object.index)) return false;
    const { blake3 } = object;
    const destination = object.destination();
    metrics.damage.inc({ kind });
    options.found.note(blake3, object.index);
    // A volume that lost half of its files must not fill the log; the line of the pass has the total.
    if (progress.state.damaged < LOGGED_DAMAGE)
      logger.error({ destination, blake3, kind }, `the scrub found damage: ${message}`);
    serving.reportDamage({ destination, blake3, kind, message, found_by: 'scrub' });
    return true;
  };

  const pacedRead = async (bytes: number): Promise<void> => {
    progress.countBytes(bytes);
    await rest(bytes);
  };

  const look = async (object: ScrubObject): Promise<boolean> => {
    const { root, pool } = options;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await scrubObject({ root, pool, signal, pace: pacedRead }, object);
        return false;
      } catch (error) {
        signal.throwIfAborted();
        const fault = byteFaultOf(error);
        if (isDamage(fault)) return report(object, fault);
        if (attempt === TRIES) {
          metrics.skipped.inc();
          logger.warn({ err: fault, blake3: object.blake3 }, 'the scrub skips an object');
          return false;
        }
        await clock.sleep(RETRY_MS, signal);
      }
    }
  };

  return { beginWork, rest, look };
}

function isDamage(fault: ByteFault): fault is ByteFault & { readonly kind: DamageKind } {
  return fault.kind !== 'overloaded';
}
