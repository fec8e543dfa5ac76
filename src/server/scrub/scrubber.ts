import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';
import { byteFaultOf, type ByteFault } from '../bytes/byte-fault.ts';
import type { Serving } from '../serving/serving.ts';
import type { ScrubMetrics } from './scrub-metrics.ts';
import { scrubObject } from './scrub-object.ts';
import { objectsOfStep, SCRUB_STEPS, type ScrubObject } from './scrub-order.ts';
import { restAfter, ScrubPace, type ScrubShare } from './scrub-pace.ts';
import { beginPass, stepOf, type ScrubState } from './scrub-state.ts';
import type { ScrubStateStore } from './scrub-state-file.ts';

/** Milliseconds until it is looked again whether anything is served. */
const IDLE_MS = 1_000;
/** Milliseconds between two savings of the place. */
const SAVE_MS = 10_000;
/** How often an object is tried that could not be looked at, and the milliseconds in between. */
const TRIES = 3;
const RETRY_MS = 1_000;
/** Damaged objects of one pass that leave a line each. */
const LOGGED_DAMAGE = 100;
/** Milliseconds until it goes on after an error that nobody expected. */
const FAILURE_MS = 60_000;

/** Reads everything that is served, over and over. */
export interface Scrubber {
  start(): void;
  /** Ends it; resolves when it has let go of its file and saved its place. */
  stop(): Promise<void>;
}

/** What {@link createScrubber} needs. */
export interface ScrubberOptions {
  readonly serving: Pick<Serving, 'state' | 'reportDamage'>;
  readonly root: string;
  readonly pool: Pick<HashPool, 'hashContent'>;
  readonly share: ScrubShare;
  /** Seconds between the end of a pass and the beginning of the next. */
  readonly restSeconds: number;
  readonly store: ScrubStateStore;
  /** How busy the server is, 0 to 1. */
  readonly load: () => number;
  readonly metrics: ScrubMetrics;
  readonly clock: Clock;
  /** 0 (inclusive) to 1. */
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * Makes the scrub. Damage in bytes that nobody asks for would wait for the client that does; here it is found first. A
 * pass goes through the digests in order, once around. Where no place was kept it begins anywhere, so that a server that is
 * restarted often still gets everywhere.
 */
export function createScrubber(options: ScrubberOptions): Scrubber {
  const { serving, store, metrics, clock, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const pace = new ScrubPace();
  let state = beginPass({
    pass: 1,
    firstStep: Math.floor(options.random() * SCRUB_STEPS) % SCRUB_STEPS,
    begunAt: unixSeconds(clock),
    completedAt: null,
  });
  let savedAt = clock.monotonic();
  let workingSince = 0;
  let running: Promise<void> = Promise.resolve();

  const served = (): ReadonlySet<ManifestIndex> =>
    new Set([...serving.state().byReleaseId.values()].map(({ index }) => index));

  const rest = async (bytes: number): Promise<void> => {
    const ms = clock.monotonic() - workingSince;
    const pause = pace.pauseFor(restAfter({ bytes, ms }, options.share, options.load()));
    if (pause > 0) await clock.sleep(pause, signal);
    workingSince = clock.monotonic();
  };

  const save = async (): Promise<void> => {
    savedAt = clock.monotonic();
    await store.save(state);
  };

  const advance = async (next: Partial<ScrubState>): Promise<void> => {
    state = { ...state, ...next };
    metrics.show(state);
    if (clock.monotonic() - savedAt >= SAVE_MS) await save();
  };

  const report = (object: ScrubObject, fault: ByteFault): boolean => {
    // A release that is gone may have been cleaned up while its object was looked for.
    if (fault.kind === 'overloaded' || !served().has(object.index)) return false;
    const { blake3 } = object;
    const destination = object.destination();
    metrics.damage.inc({ kind: fault.kind });
    // A volume that lost half of its files must not fill the log: the pass says how many there were.
    if (state.damaged < LOGGED_DAMAGE)
      logger.error({ destination, blake3, kind: fault.kind }, `the scrub found damage: ${fault.message}`);
    serving.reportDamage({ destination, blake3, kind: fault.kind, message: fault.message });
    return true;
  };

  /** Looks at one object; returns whether it is damaged. */
  const look = async (object: ScrubObject): Promise<boolean> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await scrubObject(
          {
            root: options.root,
            pool: options.pool,
            signal,
            pace: async (bytes) => {
              metrics.bytes.inc(bytes);
              state = { ...state, bytes: state.bytes + bytes };
              await rest(bytes);
            },
          },
          object,
        );
        return false;
      } catch (error) {
        signal.throwIfAborted();
        const fault = byteFaultOf(error);
        if (fault.kind !== 'overloaded') return report(object, fault);
        if (attempt === TRIES) {
          metrics.skipped.inc();
          logger.warn({ err: fault, blake3: object.blake3 }, 'the scrub leaves an object out');
          return false;
        }
        await clock.sleep(RETRY_MS, signal);
      }
    }
  };

  const step = async (): Promise<void> => {
    workingSince = clock.monotonic();
    const objects = await objectsOfStep(served(), stepOf(state), state.after);
    await rest(0);
    for (const object of objects) {
      signal.throwIfAborted();
      if (!served().has(object.index)) continue;
      workingSince = clock.monotonic();
      const damaged = await look(object);
      metrics.objects.inc();
      await rest(0);
      await advance({
        after: object.blake3,
        objects: state.objects + 1,
        damaged: state.damaged + (damaged ? 1 : 0),
      });
    }
  };

  const endPass = async (): Promise<void> => {
    const completedAt = unixSeconds(clock);
    const { pass, objects, bytes, damaged, begunAt } = state;
    logger.info({ pass, objects, bytes, damaged, seconds: completedAt - begunAt }, 'scrub pass complete');
    state = { ...state, stepsDone: 0, after: '', completedAt };
    metrics.show({ ...state, stepsDone: SCRUB_STEPS });
    // Kept as the beginning of the next one: an end of the process during the rest must not repeat this one.
    state = beginPass({
      pass: pass + 1,
      firstStep: state.firstStep,
      begunAt: completedAt + options.restSeconds,
      completedAt,
    });
    await save();
    await clock.sleep(options.restSeconds * 1000, signal);
    await advance({ begunAt: unixSeconds(clock) });
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      if (served().size === 0) {
        await clock.sleep(IDLE_MS, signal);
        continue;
      }
      await step();
      if (state.stepsDone + 1 < SCRUB_STEPS) await advance({ stepsDone: state.stepsDone + 1, after: '' });
      else await endPass();
    }
  };

  const runUntilStopped = async (): Promise<void> => {
    state = (await store.load()) ?? state;
    metrics.show(state);
    while (!signal.aborted) {
      try {
        await run();
      } catch (error) {
        if (signal.aborted) break;
        logger.error({ err: error }, 'the scrub failed and goes on later');
        await pauseAfterFailure();
      }
    }
    await save();
  };

  const pauseAfterFailure = async (): Promise<void> => {
    try {
      await clock.sleep(FAILURE_MS, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
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
