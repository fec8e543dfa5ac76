import { splitIntoBatches, type BatchSize } from '../../../domain/translation/batches.ts';
import { ProviderError, type ProviderFailureCode } from './provider-failure.ts';

/** The tokens, characters and money of requests. */
export interface Usage {
  readonly requests: number;
  readonly promptTokens: number;
  readonly answerTokens: number;
  /** Characters (UTF-16 units) of the sources. */
  readonly characters: number;
  /** In the currency of the configured prices. */
  readonly cost: number;
}

/** Prices of a provider, in any one currency. */
interface Prices {
  readonly promptTokensPerMillion: number;
  readonly answerTokensPerMillion: number;
  readonly charactersPerMillion: number;
}

/** Where a run has to stop. `null`: no limit. */
export interface SpendingCaps {
  /** Tokens of prompts and answers together. */
  readonly maxTokens: number | null;
  readonly maxCost: number | null;
}

/** The tokens and characters of one request. */
export interface RequestSize {
  readonly promptTokens: number;
  readonly answerTokens: number;
  readonly characters: number;
}

/** The estimated needs of one request. */
export interface RequestEstimate extends RequestSize {
  /** The longest answer that the provider may give, tokens; 0 for one that does not count the tokens of answers. */
  readonly longestAnswer: number;
}

interface Reservation {
  /** The longest answer that fits the caps, tokens. */
  readonly longestAnswer: number;
  /** Replaces the reserved amounts by the real ones. Only the first call counts. */
  settle(used: Usage): void;
}

/** The account of one run. */
export interface Spending {
  /**
   * Takes room for a request with its longest answer, so that the caps hold with any number of concurrent requests, as long as
   * the estimate of the prompt is not too low and the provider keeps to the longest answer. One that does not exceeds a cap by
   * the answers to the requests that were sent before the first of them was counted.
   *
   * @throws ProviderError `cap_reached` when the estimated request does not fit
   */
  reserve(estimate: RequestEstimate, prices: Prices): Reservation;
  /** Everything that was settled. */
  used(): Usage;
}

const MILLION = 1_000_000;

/** No request yet. */
export const NO_USAGE: Usage = {
  requests: 0,
  promptTokens: 0,
  answerTokens: 0,
  characters: 0,
  cost: 0,
};

/** Whether an estimate fits under the caps of its run; `null` without a cap. */
export function fits(
  { promptTokens, answerTokens, cost }: Usage,
  { maxTokens, maxCost }: SpendingCaps,
): boolean | null {
  if (maxTokens === null && maxCost === null) return null;
  return promptTokens + answerTokens <= (maxTokens ?? Infinity) && cost <= (maxCost ?? Infinity);
}

/** Adds two usages. */
export function addUsage(left: Usage, right: Usage): Usage {
  return {
    requests: left.requests + right.requests,
    promptTokens: left.promptTokens + right.promptTokens,
    answerTokens: left.answerTokens + right.answerTokens,
    characters: left.characters + right.characters,
    cost: left.cost + right.cost,
  };
}

/** The usage of one request with its price. */
export function priced({ promptTokens, answerTokens, characters }: RequestSize, prices: Prices): Usage {
  const cost =
    (promptTokens * prices.promptTokensPerMillion +
      answerTokens * prices.answerTokensPerMillion +
      characters * prices.charactersPerMillion) /
    MILLION;
  return { requests: 1, promptTokens, answerTokens, characters, cost };
}

/** Opens the account of a run. */
export function createSpending({ maxTokens, maxCost }: SpendingCaps): Spending {
  let total = NO_USAGE;
  let reservedTokens = 0;
  let reservedCost = 0;
  /** How far an answer went beyond its longest length; later requests whose answers have a bound leave room for it. */
  let excess = 0;
  const excessOf = ({ longestAnswer }: RequestEstimate): number => (longestAnswer > 0 ? excess : 0);

  /** The longest answer that the caps leave room for; can be negative. */
  const room = (estimate: RequestEstimate, prices: Prices): number => {
    const { promptTokens, characters } = estimate;
    let longest = estimate.longestAnswer;
    if (maxTokens !== null) {
      const left = maxTokens - total.promptTokens - total.answerTokens - reservedTokens;
      longest = Math.min(longest, left - promptTokens - excessOf(estimate));
    }
    if (maxCost !== null) {
      const left = maxCost - total.cost - reservedCost;
      const afterPrompt = left - priced({ promptTokens, answerTokens: 0, characters }, prices).cost;
      if (afterPrompt < 0) return -1;
      if (prices.answerTokensPerMillion > 0) {
        const affordable = Math.floor((afterPrompt * MILLION) / prices.answerTokensPerMillion);
        longest = Math.min(longest, affordable - excessOf(estimate));
      }
    }
    return longest;
  };

  return {
    reserve: (estimate, prices) => {
      const longestAnswer = room(estimate, prices);
      if (longestAnswer < estimate.answerTokens) {
        throw new ProviderError('cap_reached', describeCaps(maxTokens, maxCost));
      }
      const held = priced({ ...estimate, answerTokens: longestAnswer + excessOf(estimate) }, prices);
      const tokens = held.promptTokens + held.answerTokens;
      reservedTokens += tokens;
      reservedCost += held.cost;
      let isSettled = false;
      return {
        longestAnswer,
        settle: (used) => {
          if (isSettled) return;
          isSettled = true;
          reservedTokens -= tokens;
          reservedCost -= held.cost;
          total = addUsage(total, used);
          excess = Math.max(excess, used.answerTokens - longestAnswer);
        },
      };
    },
    used: () => total,
  };
}

function describeCaps(maxTokens: number | null, maxCost: number | null): string {
  const caps = [
    ...(maxTokens === null ? [] : [`max_tokens ${maxTokens}`]),
    ...(maxCost === null ? [] : [`max_cost ${maxCost}`]),
  ];
  return `the next request does not fit under ${caps.join(' and ')}; start another run or raise the cap`;
}

/** The needs of a request to a provider that counts the characters of sources. */
export function charactersOf(units: readonly { readonly sourceText: string }[]): RequestEstimate {
  const characters = units.reduce((sum, { sourceText }) => sum + sourceText.length, 0);
  return { promptTokens: 0, answerTokens: 0, characters, longestAnswer: 0 };
}

/** The usage of texts in batches, with its price, at a provider that counts the characters of sources. */
export function usageOfCharacters(
  units: readonly { readonly sourceText: string }[],
  size: BatchSize,
  prices: Prices,
): Usage {
  const usages = Array.from(splitIntoBatches(units, size), (batch) => priced(charactersOf(batch), prices));
  return usages.reduce(addUsage, NO_USAGE);
}

/** Failures of requests that the provider may have carried out and charged. */
const MAYBE_CHARGED: ReadonlySet<ProviderFailureCode> = new Set([
  'provider_timeout',
  'answer_too_large',
  'answer_malformed',
]);

/** Whether a request that failed in this way may have been carried out, so that it counts with its estimate. */
export function isMaybeCharged(error: unknown): boolean {
  return !(error instanceof ProviderError) || MAYBE_CHARGED.has(error.code);
}

/** Tells the account what happens to a request. */
interface RequestMeter {
  /** A request leaves; one question may need several. @param isFree whether it costs nothing, whatever becomes of it */
  readonly sent: (isFree?: boolean) => void;
  /** The answer says what the question used. */
  readonly settle: (used: Usage) => void;
}

/**
 * Asks a question within the caps of its run, and counts every request that was sent for it. One that failed after it may have been
 * carried out counts with its estimate, and an answer that is too large to be read with the longest one.
 *
 * @param count is given what the question used
 * @param send gets the longest answer that the caps allow
 * @throws ProviderError `cap_reached`; the errors of `send`
 */
export async function spend<Answer>(
  spending: Spending,
  estimate: RequestEstimate,
  prices: Prices,
  count: (used: Usage) => void,
  send: (longestAnswer: number, meter: RequestMeter) => Promise<Answer>,
): Promise<Answer> {
  const reservation = spending.reserve(estimate, prices);
  let used: Usage | null = null;
  let requests = 0;
  let isLastFree = false;
  const meter: RequestMeter = {
    sent: (isFree = false) => {
      requests += 1;
      isLastFree = isFree;
    },
    settle: (real) => {
      used = real;
    },
  };
  try {
    return await send(reservation.longestAnswer, meter);
  } catch (error) {
    const mayCost = !isLastFree && isMaybeCharged(error);
    const isTooLarge = error instanceof ProviderError && error.code === 'answer_too_large';
    const answerTokens = isTooLarge ? reservation.longestAnswer : estimate.answerTokens;
    used ??= mayCost ? priced({ ...estimate, answerTokens }, prices) : NO_USAGE;
    throw error;
  } finally {
    const final = requests === 0 ? NO_USAGE : { ...(used ?? priced(estimate, prices)), requests };
    reservation.settle(final);
    count(final);
  }
}
