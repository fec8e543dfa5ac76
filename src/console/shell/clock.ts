import { signal } from '@preact/signals';

/** A smaller difference may come from the time that an answer takes, and from `Date`, which has whole seconds. */
const TOLERANCE_MS = 3000;

/** The time of the page. Components that read it are drawn again once per second. */
export interface PageClock {
  /** The server's clock, Unix seconds. */
  readonly now: () => number;
  /** The reader's clock, milliseconds. */
  readonly localNow: () => number;
  /** Learns the server's clock from the `Date` of an answer. */
  readonly learn: (date: string) => void;
  /** Moves on. */
  readonly tick: () => void;
}

/** Makes the clock of a page. */
export function createPageClock(): PageClock {
  const ticks = signal(0);
  let offsetMs = 0;
  const localNow = (): number => {
    void ticks.value;
    return Date.now();
  };
  return {
    now: () => (localNow() + offsetMs) / 1000,
    localNow,
    learn: (date) => {
      const offset = Date.parse(date) - Date.now();
      offsetMs = Math.abs(offset) > TOLERANCE_MS ? offset : 0;
    },
    tick: () => {
      ticks.value += 1;
    },
  };
}
