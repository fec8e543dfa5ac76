/** Bounds of the counter of failed logins. */
export interface FailedLoginLimits {
  /** Wrong tokens of one source in one window before the source must wait. */
  readonly perWindow: number;
  readonly windowMs: number;
  /** Maximum number of sources remembered; the one that failed least recently is forgotten first. */
  readonly sources: number;
}

/** The limits of the admin surface. */
export const FAILED_LOGIN_LIMITS: FailedLoginLimits = { perWindow: 20, windowMs: 60_000, sources: 4_096 };

/** The consequence of a failed login. */
export interface FailedLogin {
  /** Seconds to wait, `null` below the limit. */
  readonly retryAfter: number | null;
  /** Whether this failure is the first beyond the limit. */
  readonly isFirstBeyond: boolean;
}

/** Counts wrong tokens by source address. */
export interface FailedLogins {
  /**
   * Counts one failure.
   *
   * @param source address
   * @param now monotonic milliseconds
   */
  record(source: string, now: number): FailedLogin;
}

/** Makes a counter with bounded memory. Right tokens are never checked against it, so nobody can be locked out. */
export function createFailedLogins(limits: FailedLoginLimits = FAILED_LOGIN_LIMITS): FailedLogins {
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
