import type { TokenLimitSettings } from '../config/token-sources.ts';

/** The limits that a request can exceed. */
export const TOKEN_LIMITS = ['rate', 'concurrency'] as const;

/** One of these limits. */
export type TokenLimit = (typeof TOKEN_LIMITS)[number];

/** A request that exceeds a limit of its token. */
export interface TokenRefusal {
  readonly limit: TokenLimit;
  /** Whole seconds until another request can be admitted, at least 1. */
  readonly retryAfter: number;
}

/** Counts the requests of one token in this process. It begins full. */
export class TokenAllowance {
  readonly #concurrentRequests: number;
  readonly #intervalMs: number;
  readonly #toleranceMs: number;
  /** When the requests so far would have ended if they had come one interval apart. */
  #busyUntil = -Infinity;
  #running = 0;

  constructor(settings: TokenLimitSettings) {
    const { requestsPerSecond = Infinity, concurrentRequests = Infinity } = settings;
    const { burst = Math.max(1, Math.ceil(requestsPerSecond)) } = settings;
    this.#concurrentRequests = concurrentRequests;
    this.#intervalMs = 1000 / requestsPerSecond;
    // Only one of them is Infinity, or the product has no value.
    this.#toleranceMs = this.#intervalMs === 0 ? 0 : this.#intervalMs * (burst - 1);
  }

  /**
   * Asks whether one more request is within the limits. Nothing is counted.
   *
   * @param now monotonic milliseconds
   */
  refusal(now: number): TokenRefusal | null {
    if (this.#running >= this.#concurrentRequests) return { limit: 'concurrency', retryAfter: 1 };
    const waitMs = this.#busyUntil - now - this.#toleranceMs;
    // A millionth of a millisecond is an error of rounding.
    if (waitMs <= 1e-6) return null;
    return { limit: 'rate', retryAfter: Math.max(1, Math.ceil(waitMs / 1000)) };
  }

  /** Counts a request that was admitted. @returns a function to call once, when its answer has ended */
  admit(now: number): () => void {
    this.#busyUntil = Math.max(this.#busyUntil, now) + this.#intervalMs;
    this.#running += 1;
    return () => {
      this.#running -= 1;
    };
  }
}
