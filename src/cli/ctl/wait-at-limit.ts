import type { AdminApi } from './admin-api.ts';
import type { CtlContext } from './ctl-context.ts';
import { CtlFailure } from './ctl-exits.ts';

/** The wait when the service does not say how long. */
const DEFAULT_WAIT_MS = 1000;

/**
 * Makes calls that wait as long as the service asks where the token has reached a limit, and are sent again. The service does
 * nothing for a call that it refuses so.
 */
export function waitAtLimit({ api, clock, signal }: Pick<CtlContext, 'api' | 'clock' | 'signal'>): AdminApi {
  const send = async <T>(call: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof CtlFailure) || error.code !== 'too_many_requests') throw error;
        await clock.sleep(error.retryAfterMs ?? DEFAULT_WAIT_MS, signal);
      }
    }
  };
  return {
    get: async (...request) => await send(async () => await api.get(...request)),
    post: async (...request) => await send(async () => await api.post(...request)),
  };
}
