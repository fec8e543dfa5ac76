/** How much of the machine the scrub may have. */
export interface ScrubShare {
  /** Maximum number of bytes read per second. */
  readonly bytesPerSecond: number;
  /** Maximum number of of the time that it is at work, 0 to 1. */
  readonly share: number;
}

/** However busy the server is, the scrub gets on at this part of its speed: damage must not stay hidden under load. */
const LEAST_SPEED = 0.05;

/** Shorter pauses are accumulated, because timers are not finer. Milliseconds. */
const LEAST_PAUSE_MS = 20;

/** Longest pause that one piece of work can earn, milliseconds. */
const MOST_PAUSE_MS = 60_000;

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
  return Math.min(MOST_PAUSE_MS, rest);
}

/** Saves up rests until one is worth a timer. */
export class ScrubPace {
  #owed = 0;

  /** Adds a rest and says how long to pause now, 0 when it is not worth it yet. */
  pauseFor(restMs: number): number {
    this.#owed += restMs;
    if (this.#owed < LEAST_PAUSE_MS) return 0;
    const pause = this.#owed;
    this.#owed = 0;
    return pause;
  }
}
