/** The limits of the admin surface; the source that failed least recently is forgotten first. */
const LIMITS = { perWindow: 20, windowMs: 60_000, sources: 4_096 };

/**
 * Counts wrong tokens by source address, with bounded memory. Right tokens are never checked against it, so nobody can be
 * locked out.
 */
export class FailedLogins {
  readonly #limits: typeof LIMITS;
  readonly #windows = new Map<string, { readonly endsAt: number; readonly count: number }>();

  constructor(limits = LIMITS) {
    this.#limits = limits;
  }

  /**
   * Counts one failure.
   *
   * @param now monotonic milliseconds
   * @returns seconds to wait, `null` below the limit, and whether this failure is the first beyond it
   */
  record(
    source: string,
    now: number,
  ): { readonly retryAfter: number | null; readonly isFirstBeyond: boolean } {
    const { perWindow, windowMs, sources } = this.#limits;
    const known = this.#windows.get(source);
    const isOpen = known !== undefined && now < known.endsAt;
    const endsAt = isOpen ? known.endsAt : now + windowMs;
    const count = (isOpen ? known.count : 0) + 1;
    // Set again, to keep the map in the order of the failures.
    this.#windows.delete(source);
    this.#windows.set(source, { endsAt, count });
    const [oldest] = this.#windows.keys();
    if (this.#windows.size > sources && oldest !== undefined) this.#windows.delete(oldest);
    return {
      retryAfter: count > perWindow ? Math.max(1, Math.ceil((endsAt - now) / 1000)) : null,
      isFirstBeyond: count === perWindow + 1,
    };
  }
}
