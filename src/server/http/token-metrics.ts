import { Counter, type Registry } from 'prom-client';
import { TOKEN_LIMITS, type TokenLimit } from './token-limits.ts';

/** Counts a request whose token had reached a limit. */
export type CountLimited = (id: string | null, limit: TokenLimit) => void;

/** The label of tokens that have no id in the configuration. */
const WITHOUT_ID = 'none';

/**
 * Registers the metric of tokens with limits.
 *
 * @param ids the ids of the tokens that have limits, which bound the series
 */
export function createLimitCounter(registry: Registry, ids: readonly (string | null)[]): CountLimited {
  const limited = new Counter({
    name: 'slipway_token_limited_requests_total',
    help: 'Requests that got 429 because their token had reached a limit, by the id of the token and by limit.',
    labelNames: ['token', 'limit'],
    registers: [registry],
  });
  for (const id of ids) for (const limit of TOKEN_LIMITS) limited.inc({ token: id ?? WITHOUT_ID, limit }, 0);
  return (id, limit) => limited.inc({ token: id ?? WITHOUT_ID, limit });
}
