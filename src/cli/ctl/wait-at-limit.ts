import type { AdminApi } from './admin-api.ts';
import type { CtlContext } from './ctl-context.ts';
import { CtlFailure } from './ctl-exits.ts';

/** The wait when the service does not say how long. */
const DEFAULT_WAIT_MS = 1000;
/** How often one call waits. */
const MAX_WAITS = 10;
/** Longest wait, milliseconds. */
const WAIT_MAX_MS = 300_000;

/**
 * Makes calls that wait as long as the service asks where the token has reached a limit, and are sent again. The service does
 * nothing for a call that it refuses so. A call that was refused often fails with the refusal.
 *
 * @param onWait is called before each wait, with its milliseconds
 */
export function waitAtLimit(
  { api, clock, signal }: Pick<CtlContext, 'api' | 'clock' | 'signal'>,
  onWait: (ms: number) => void,
): AdminApi {
  const send = async <T>(call: () => Promise<T>): Promise<T> => {
    for (let waits = 0; ; waits += 1) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof CtlFailure) || error.code !== 'too_many_requests' || waits === MAX_WAITS)
          throw error;
        const waitMs = Math.min(error.retryAfterMs ?? DEFAULT_WAIT_MS, WAIT_MAX_MS);
        onWait(waitMs);
        await clock.sleep(waitMs, signal);
      }
    }
  };
  return {
    get: async (...request) => await send(async () => await api.get(...request)),
    post: async (...request) => await send(async () => await api.post(...request)),
  };
}
