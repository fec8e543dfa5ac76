/** The limits of the admin surface; the source that failed least recently is forgotten first. */
const LIMITS = { perWindow: 20, windowMs: 60_000, sources: 4_096 };

/**
 * Makes a counter of wrong tokens by source address, with bounded memory. Right tokens are never checked against it, so
 * nobody can be locked out.
 */
export function createFailedLogins(limits = LIMITS): {
  /**
   * Counts one failure.
   *
   * @param now monotonic milliseconds
   * @returns seconds to wait, `null` below the limit, and whether this failure is the first beyond it
   */
  record(
    source: string,
    now: number,
  ): { readonly retryAfter: number | null; readonly isFirstBeyond: boolean };
} {
  const windows = new Map<string, { readonly endsAt: number; readonly count: number }>();
  return {
    record: (source, now) => {
      const known = windows.get(source);
      const isOpen = known !== undefined && now < known.endsAt;
      const endsAt = isOpen ? known.endsAt : now + limits.windowMs;
      const count = (isOpen ? known.count : 0) + 1;
      // Set again, to keep the map in the order of the failures.
      windows.delete(source);
      windows.set(source, { endsAt, count });
      const [oldest] = windows.keys();
      if (windows.size > limits.sources && oldest !== undefined) windows.delete(oldest);
      return {
        retryAfter: count > limits.perWindow ? Math.max(1, Math.ceil((endsAt - now) / 1000)) : null,
        isFirstBeyond: count === limits.perWindow + 1,
      };
    },
  };
}
