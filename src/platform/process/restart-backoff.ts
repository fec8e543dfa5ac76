import { backoffMs, type BackoffOptions } from './backoff.ts';

/** Milliseconds that a process must live so that its end does not count as a failure in a row. */
const STEADY_MS = 60_000;

interface RestartBackoff {
  /** Failures in a row, this one included. */
  readonly failures: number;
  readonly waitMs: number;
}

/**
 * Counts the end of a process, and gives the wait before its next start: longer after each failure in a row.
 *
 * @param failures failures in a row before this end
 */
export function restartBackoff(
  failures: number,
  livedMs: number,
  limits: BackoffOptions,
  random: number,
): RestartBackoff {
  const inARow = livedMs >= STEADY_MS ? 1 : failures + 1;
  return { failures: inARow, waitMs: backoffMs(inARow, limits, random, null) };
}
