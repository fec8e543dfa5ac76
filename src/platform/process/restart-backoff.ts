import { backoffMs, type BackoffOptions } from './backoff.ts';

/** Milliseconds that a process must live so that its end does not count as a failure in a row. */
const STEADY_MS = 60_000;

/** The wait before a process that ended is started again. */
export interface RestartBackoff {
  /** Failures in a row, this one included. */
  readonly failures: number;
  /** Milliseconds. */
  readonly waitMs: number;
}

/**
 * Counts the end of a process, and gives the wait before its next start: longer after each failure in a row.
 *
 * @param failures failures in a row before this end
 * @param livedMs how long the process lived
 * @param random in [0, 1)
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
