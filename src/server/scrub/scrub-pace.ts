/** The share of the machine that the scrub may use. */
export interface ScrubShare {
  readonly bytesPerSecond: number;
  /** Maximum share of the time that it works, 0 to 1. */
  readonly share: number;
}

/** Minimum share of its speed at which the scrub runs under any load, so that load does not hide damage. */
const LEAST_SPEED = 0.05;

/** Shorter pauses are accumulated, because timers are not finer. Milliseconds. */
const LEAST_PAUSE_MS = 20;

/** Longest pause that one piece of work can earn, milliseconds. */
const MAX_PAUSE_MS = 60_000;

/**
 * How long to rest after a piece of work: until the bytes are paid for and the share of the time is kept, whichever is
 * later; longer while the server is busy.
 *
 * @param load of the server without the scrub, 0 to 1
 * @returns milliseconds
 */
export function restAfter(
  work: { readonly bytes: number; readonly ms: number },
  { bytesPerSecond, share }: ScrubShare,
  load: number,
): number {
  const forBytes = (work.bytes / bytesPerSecond) * 1000 - work.ms;
  const forTime = work.ms * (1 / share - 1);
  const rest = Math.max(0, forBytes, forTime) / Math.max(LEAST_SPEED, 1 - load);
  return Math.min(MAX_PAUSE_MS, rest);
}

/** Accumulates rests until they are worth a timer. */
export class ScrubPace {
  #owed = 0;

  /** Adds a rest; returns how long to pause now, or 0 if it is not worth a timer yet. */
  pauseFor(restMs: number): number {
    this.#owed += restMs;
    if (this.#owed < LEAST_PAUSE_MS) return 0;
    const pause = this.#owed;
    this.#owed = 0;
    return pause;
  }
}
