/** The keys by which the service knows a request that it gets again. */

import { randomKey } from './random-key.ts';

/** Most requests without an answer that are remembered. */
const MAX_UNANSWERED = 100;

/** Keeps the `Idempotency-Key` of every request until it has an answer. */
export interface RequestKeys {
  /**
   * Sends a request with its key: that of the same request before, if nobody knows whether that one was carried out.
   *
   * @param request path and body
   */
  use<T>(request: string, send: (key: string) => Promise<T>): Promise<T>;
}

/**
 * Makes the keys of one page.
 *
 * @param isRefusal whether an error says that the request was not carried out
 */
export function createRequestKeys(isRefusal: (error: unknown) => boolean): RequestKeys {
  const unanswered = new Map<string, string>();
  return {
    use: async (request, send) => {
      const key = unanswered.get(request) ?? randomKey();
      unanswered.set(request, key);
      const [oldest] = unanswered.keys();
      if (unanswered.size > MAX_UNANSWERED && oldest !== undefined) unanswered.delete(oldest);
      try {
        const answer = await send(key);
        unanswered.delete(request);
        return answer;
      } catch (error) {
        if (isRefusal(error)) unanswered.delete(request);
        throw error;
      }
    },
  };
}
