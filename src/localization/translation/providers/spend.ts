import { ProviderTrouble, type ProviderFailureCode } from './provider-failure.ts';
import {
  NO_USAGE,
  priced,
  type Prices,
  type RequestEstimate,
  type Spending,
  type Usage,
} from './spending.ts';

/** Failures of requests that the provider may have carried out and charged. */
const MAYBE_CHARGED: ReadonlySet<ProviderFailureCode> = new Set([
  'provider_timeout',
  'answer_too_large',
  'answer_malformed',
]);

/**
 * Makes a request within the caps of its run, and counts it. One that failed after it may have been carried out counts with
 * its estimate.
 *
 * @param count is given what the request used
 * @param send gets the longest answer that the caps allow, and a function that takes the real usage
 * @throws ProviderTrouble `cap_reached`; the errors of `send`
 */
export async function spend<Answer>(
  spending: Spending,
  estimate: RequestEstimate,
  prices: Prices,
  count: (used: Usage) => void,
  send: (longestAnswer: number, settle: (used: Usage) => void) => Promise<Answer>,
): Promise<Answer> {
  const reservation = spending.reserve(estimate, prices);
  let used: Usage | null = null;
  try {
    return await send(reservation.longestAnswer, (real) => {
      used = real;
    });
  } catch (error) {
    const isMaybeCharged = !(error instanceof ProviderTrouble) || MAYBE_CHARGED.has(error.code);
    used ??= isMaybeCharged ? priced(estimate, prices) : { ...NO_USAGE, requests: 1 };
    throw error;
  } finally {
    const final = used ?? priced(estimate, prices);
    reservation.settle(final);
    count(final);
  }
}
