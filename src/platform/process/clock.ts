import { setTimeout as delay } from 'node:timers/promises';

/** Time as a dependency, so that tests can own it. */
export interface Clock {
  /** Wall clock, Unix milliseconds: for validity and for what people read. */
  now(): number;
  /** Monotonic milliseconds: for ages and deadlines. */
  monotonic(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The machine's clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      await delay(ms, undefined, signal === undefined ? { ref: false } : { ref: false, signal });
    } catch (error) {
      // Node rejects with an AbortError of its own that hides the signal's reason in its cause.
      signal?.throwIfAborted();
      throw error;
    }
  },
};

/** Unix seconds of the wall clock, rounded down: the unit of every API body. */
export function unixSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000);
}
