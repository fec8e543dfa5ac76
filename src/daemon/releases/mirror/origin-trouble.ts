import type { Clock } from '../../../platform/process/clock.ts';

/** Milliseconds without a look that succeeds, after which a sync is to report the trouble. */
const LONG_MS = 30_000;

/** Why the origin of an edge cannot be followed. */
export interface OriginTrouble {
  /** The reason; `null` while the origin can be followed. */
  message(): string | null;
  /** Notes that a look failed. */
  note(message: string): void;
  /** Whether the trouble has lasted for long since it began, or since it was reported last. */
  isLong(): boolean;
  /** Notes that a sync was queued, which fails for the same reason. */
  reported(): void;
  /** Notes that a look succeeded, or that there is another origin. */
  end(): void;
}

/** Creates it without trouble. */
export function createOriginTrouble(clock: Pick<Clock, 'monotonic'>): OriginTrouble {
  let message: string | null = null;
  let since = 0;
  return {
    message: () => message,
    note: (reason) => {
      if (message === null) since = clock.monotonic();
      message = reason;
    },
    isLong: () => message !== null && clock.monotonic() - since >= LONG_MS,
    reported: () => {
      since = clock.monotonic();
    },
    end: () => {
      message = null;
    },
  };
}
