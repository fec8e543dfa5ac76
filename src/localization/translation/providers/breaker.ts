import { backoffMs } from '../../../platform/process/backoff.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import { ProviderError } from './provider-failure.ts';
import { unlessAborted } from './unless-aborted.ts';

/** The right to send one request. Exactly one of its functions is called when the request has ended. */
export interface Turn {
  /** Whether this request tries a provider that was out: it is to be a small one. */
  readonly isProbe: boolean;
  /** The provider works, whatever it says about the texts. */
  worked(): void;
  /** The whole request failed because of the provider. */
  failed(error: ProviderError): void;
  /** The request says nothing about the provider. */
  left(): void;
}

/** How the requests to a provider went. Times are Unix seconds. */
export interface BreakerState {
  /** `untried`: no request yet; `failing`: the last one failed; `out`: so many failed that no more are sent. */
  readonly state: 'untried' | 'works' | 'failing' | 'out';
  readonly lastAnswerAt: number | null;
  readonly lastFailure: { readonly code: string; readonly message: string; readonly at: number } | null;
  /** When the next request may be sent, if that is later. */
  readonly nextRequestAt: number | null;
}

/** Stops asking a provider that fails. All runs that use the provider share one. */
export interface Breaker {
  /**
   * Waits until a request may be sent: after a failure for a moment, and after several in a row until one small request has
   * succeeded.
   *
   * @param waitMs longest wait; absent: the usual one of the provider
   * @throws the last ProviderError when the wait would be too long, or when the small request has failed; the reason of the signal
   */
  admit(signal: AbortSignal, waitMs?: number): Promise<Turn>;
  /** Whether so many requests have failed in a row that no more are sent. */
  isOpen(): boolean;
  /** How the last requests went, for people. */
  state(): BreakerState;
  /** Whether the provider has ever understood a request. */
  hasWorked(): boolean;
  /** Lets the next request through without a wait that the provider did not ask for: someone begins a new run. */
  readonly tryAgain: () => void;
}

interface BreakerOptions {
  /** Failures in a row after which no more requests are sent. */
  readonly most: number;
  /** Longest wait for a request, milliseconds. */
  readonly longestWaitMs: number;
  readonly clock: Clock;
  /** In [0, 1), for the jitter of waits. */
  readonly random: () => number;
}

const AFTER_FAILURE = { baseMs: 500, capMs: 10_000 } as const;
const WHILE_OPEN = { baseMs: 30_000, capMs: 600_000 } as const;

/** Makes the breaker of a provider. Source: the pattern "circuit breaker" of M. Nygard, "Release It!". */
export function createBreaker({ most, longestWaitMs, clock, random }: BreakerOptions): Breaker {
  let failures = 0;
  let openings = 0;
  let hasWorked = false;
  let last: ProviderError | null = null;
  const record = createRecord(clock);
  let closedUntil = clock.monotonic();
  /** The same for a wait that the provider asked for. */
  let askedUntil = closedUntil;
  let probe: PromiseWithResolvers<boolean> | null = null;

  const endProbe = (isProbe: boolean, hasFailed: boolean): void => {
    if (!isProbe) return;
    probe?.resolve(hasFailed);
    probe = null;
  };

  const failed = (isProbe: boolean, waitMs: number, error: ProviderError): void => {
    last = error;
    record.failed(error);
    failures += 1;
    const { retryAfterMs } = error;
    const isOut = failures >= most || (retryAfterMs ?? 0) > waitMs;
    if (isProbe || (isOut && openings === 0)) openings += 1;
    // A provider that says when to come back is believed.
    const wait =
      openings > 0 && retryAfterMs === null
        ? backoffMs(openings, WHILE_OPEN, random(), retryAfterMs)
        : backoffMs(failures, AFTER_FAILURE, random(), retryAfterMs);
    const now = clock.monotonic();
    closedUntil = Math.max(closedUntil, now + wait);
    askedUntil = Math.max(askedUntil, now + (retryAfterMs ?? 0));
    endProbe(isProbe, true);
  };

  const turn = (isProbe: boolean, waitMs: number): Turn => ({
    isProbe,
    worked: () => {
      record.answered();
      // An answer to a request from before the failures closes nothing.
      if (openings > 0 && !isProbe) return;
      failures = 0;
      openings = 0;
      hasWorked = true;
      record.worked();
      endProbe(isProbe, false);
    },
    failed: (error) => {
      failed(isProbe, waitMs, error);
    },
    left: () => {
      endProbe(isProbe, false);
    },
  });

  return {
    isOpen: () => openings > 0,
    hasWorked: () => hasWorked,
    state: () => record.read(openings > 0, closedUntil - clock.monotonic()),
    tryAgain: () => {
      if (openings === 0) failures = 0;
      closedUntil = askedUntil;
    },
    admit: async (signal, waitMs = longestWaitMs) => {
      for (;;) {
        signal.throwIfAborted();
        if (probe !== null) {
          const hasFailed = await unlessAborted(probe.promise, signal);
          if (hasFailed && last !== null) throw again(last, closedUntil - clock.monotonic());
          continue;
        }
        const wait = closedUntil - clock.monotonic();
        if (openings > 0 && wait > waitMs && last !== null) throw again(last, wait);
        if (wait > 0) {
          await clock.sleep(Math.ceil(wait), signal);
          continue;
        }
        if (openings === 0) return turn(false, waitMs);
        probe = Promise.withResolvers();
        return turn(true, waitMs);
      }
    },
  };
}

/** Keeps how requests went, for people. */
function createRecord(clock: Clock) {
  let last: BreakerState['state'] = 'untried';
  let lastAnswerAt: number | null = null;
  let lastFailure: BreakerState['lastFailure'] = null;
  return {
    answered: (): void => {
      lastAnswerAt = unixSeconds(clock);
    },
    worked: (): void => {
      last = 'works';
    },
    failed: ({ code, message }: ProviderError): void => {
      last = 'failing';
      lastFailure = { code, message, at: unixSeconds(clock) };
    },
    read: (isOut: boolean, waitMs: number): BreakerState => ({
      state: isOut ? 'out' : last,
      lastAnswerAt,
      lastFailure,
      nextRequestAt: waitMs > 0 ? Math.ceil((clock.now() + waitMs) / 1000) : null,
    }),
  };
}

/** The failure for a request that is not sent. */
function again({ code, message }: ProviderError, waitMs: number): ProviderError {
  return new ProviderError(code, message, { retryAfterMs: Math.max(0, Math.ceil(waitMs)) });
}
