/** Longest wait that a `Retry-After` can ask for, in milliseconds. */
const RETRY_AFTER_MAX_MS = 300_000;

/**
 * Parses `Retry-After` (RFC 9110 section 10.2.3): seconds or an HTTP date.
 *
 * @param now Unix milliseconds
 * @returns milliseconds from now, 0 to {@link RETRY_AFTER_MAX_MS}, or `null` when absent or malformed
 */
export function parseRetryAfter(value: string | null, now: number): number | null {
  if (value === null) return null;
  const text = value.trim();
  if (/^[0-9]{1,15}$/.test(text)) return Math.min(Number(text) * 1000, RETRY_AFTER_MAX_MS);
  if (!/^[A-Za-z]{3,9},? /.test(text)) return null;
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.min(Math.max(0, date - now), RETRY_AFTER_MAX_MS);
}
