/** What {@link createFailedLogins} is bounded by. */
export interface FailedLoginLimits {
  /** Wrong tokens of one source in one window before it is told to wait. */
  readonly perWindow: number;
  readonly windowMs: number;
  /** Sources that are remembered; the one that failed least recently is forgotten first. */
  readonly sources: number;
}

/** The limits of the admin surface. */
export const FAILED_LOGIN_LIMITS: FailedLoginLimits = { perWindow: 20, windowMs: 60_000, sources: 4_096 };

/** What a failed login leads to. */
export interface FailedLogin {
  /** Seconds to wait, `null` below the limit. */
  readonly retryAfter: number | null;
  /** Whether this one is the first beyond the limit. */
  readonly isFirstBeyond: boolean;
}

/** Counts wrong tokens by source address. */
export interface FailedLogins {
  /**
   * Notes one.
   *
   * @param source address
   * @param now monotonic milliseconds
   */
  record(source: string, now: number): FailedLogin;
}

/** Makes a counter whose memory is bounded. A right token is never asked about here, so nobody can be locked out. */
export function createFailedLogins(limits: FailedLoginLimits = FAILED_LOGIN_LIMITS): FailedLogins {
  const windows = new Map<string, { readonly endsAt: number; readonly count: number }>();
  return {
    record: (source, now) => {
      const known = windows.get(source);
      const isOpen = known !== undefined && now < known.endsAt;
      const endsAt = isOpen ? known.endsAt : now + limits.windowMs;
      const count = (isOpen ? known.count : 0) + 1;
      // Set again, so that the order of the map is that of the failures.
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
