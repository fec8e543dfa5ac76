import type { Clock } from '../../../platform/process/clock.ts';

/** `--timeout` expired. */
export class CheckTimeout extends Error {
  constructor(seconds: number) {
    super(`the check did not end within ${seconds} s (--timeout)`);
    this.name = 'CheckTimeout';
  }
}

interface TimeLimit {
  readonly signal: AbortSignal;
  clear(): void;
}

/**
 * Starts a time limit.
 *
 * @param seconds `null` for none
 */
export function startTimeLimit(seconds: number | null, clock: Clock): TimeLimit {
  const limit = new AbortController();
  const cleared = new AbortController();
  if (seconds !== null) {
    void clock.sleep(seconds * 1000, cleared.signal).then(
      () => {
        limit.abort(new CheckTimeout(seconds));
      },
      () => undefined,
    );
  }
  return {
    signal: limit.signal,
    clear: () => {
      cleared.abort();
    },
  };
}

/** The end of the time, when that has aborted a signal; `null` otherwise. */
export function checkTimeoutOf(signal: AbortSignal): CheckTimeout | null {
  return signal.reason instanceof CheckTimeout ? signal.reason : null;
}

/** Throws the reason of an aborted signal, except for the end of the time: the findings until then are reported. */
export function throwIfInterrupted(signal: AbortSignal): void {
  if (checkTimeoutOf(signal) === null) signal.throwIfAborted();
}
