export interface BackoffOptions {
  /** Wait after the first attempt, before jitter. */
  readonly baseMs: number;
  /** Longest wait, before jitter. */
  readonly capMs: number;
}

/** Longest wait that another party may ask for; beyond it its wish is a mistake. */
export const RETRY_AFTER_MAX_MS = 3_600_000;

/**
 * The wait before the next attempt: exponential, half of it fixed and half of it jitter, and never shorter than what
 * the other party asked for.
 *
 * @param attempt the attempt that failed, 1 for the first
 * @param retryAfterMs what `Retry-After` asked for, or `null`; at most an hour of it is honoured
 * @returns milliseconds
 *
 * Source: the retry backoff of pg-boss, "half fixed, half jitter".
 */
export function backoffMs(
  attempt: number,
  options: BackoffOptions,
  random: number,
  retryAfterMs: number | null,
): number {
  // Beyond 2^30 every cap is reached, and the power would only lose precision.
  const exponential = options.baseMs * 2 ** Math.min(Math.max(attempt - 1, 0), 30);
  const wait = Math.min(options.capMs, exponential) * (0.5 + 0.5 * random);
  const asked = Math.min(Math.max(retryAfterMs ?? 0, 0), RETRY_AFTER_MAX_MS);
  return Math.round(Math.max(wait, asked));
}
