import type { Clock } from '../../../platform/process/clock.ts';

/** How fast requests may be sent. `null`: no limit. */
interface RateLimits {
  readonly requestsPerMinute: number | null;
  readonly charactersPerMinute: number | null;
}

/** Lets requests through at the rate of a provider. All runs share one. */
export interface RateLimit {
  /**
   * Waits until a request may be sent.
   *
   * @throws the reason of the signal
   */
  take(characters: number, signal: AbortSignal): Promise<void>;
  /** The provider asked for fewer requests: halves the rate, and sends none before `waitMs` milliseconds have passed. */
  throttled(waitMs: number): void;
  /** The provider answered: the rate grows back. */
  succeeded(): void;
}

const MINUTE_MS = 60_000;
/** The rate never falls below this part of the configured one. */
const SLOWEST = 1 / 16;
/** Part of the configured rate that each success gives back. */
const RECOVERY = 1 / 50;

interface Bucket {
  readonly perMinute: number;
  level: number;
}

/** Makes the rate limit of one provider. The buckets hold one minute and start full. */
export function createRateLimit(limits: RateLimits, clock: Clock): RateLimit {
  const requests = bucketOf(limits.requestsPerMinute);
  const characters = bucketOf(limits.charactersPerMinute);
  let factor = 1;
  let filledAt = clock.monotonic();
  let pausedUntil = filledAt;

  const fill = (): void => {
    const now = clock.monotonic();
    for (const bucket of [requests, characters]) {
      if (bucket === null) continue;
      const gained = ((now - filledAt) / MINUTE_MS) * bucket.perMinute * factor;
      bucket.level = Math.min(bucket.perMinute, bucket.level + gained);
    }
    filledAt = now;
  };

  /** Milliseconds until `amount` is in the bucket. A request larger than the bucket waits until it is full. */
  const waitFor = (bucket: Bucket | null, amount: number): number => {
    if (bucket === null) return 0;
    const missing = Math.min(amount, bucket.perMinute) - bucket.level;
    return missing <= 1e-9 ? 0 : (missing / (bucket.perMinute * factor)) * MINUTE_MS;
  };

  /** Each request waits by itself, so that one that gives up never holds up another. */
  const take = async (amount: number, signal: AbortSignal): Promise<void> => {
    for (;;) {
      signal.throwIfAborted();
      fill();
      const wait = Math.max(
        pausedUntil - clock.monotonic(),
        waitFor(requests, 1),
        waitFor(characters, amount),
      );
      if (wait <= 0) break;
      await clock.sleep(Math.ceil(wait), signal);
    }
    if (requests !== null) requests.level -= 1;
    if (characters !== null) characters.level -= amount;
  };

  return {
    take,
    throttled: (waitMs) => {
      fill();
      factor = Math.max(SLOWEST, factor / 2);
      pausedUntil = Math.max(pausedUntil, clock.monotonic() + waitMs);
    },
    succeeded: () => {
      fill();
      factor = Math.min(1, factor + RECOVERY);
    },
  };
}

function bucketOf(perMinute: number | null): Bucket | null {
  return perMinute === null ? null : { perMinute, level: perMinute };
}
