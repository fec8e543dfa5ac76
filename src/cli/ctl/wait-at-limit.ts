import { IMPORT_WAITS } from '../../contract/formats/glossary/term-import.ts';
import type { AdminApi } from './admin-api.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { CtlFailure } from './ctl-exits.ts';

/**
 * Makes calls that wait as long as the service asks where the token has reached a limit, and are sent again. The service does
 * nothing for a call that it refuses so. After the waits of {@link IMPORT_WAITS} the call
 * fails with the refusal.
 *
 * @param onWait is called before each wait, with its milliseconds
 */
export function waitAtLimit(
  api: AdminApi,
  clock: Clock,
  signal: AbortSignal,
  onWait: (ms: number) => void,
): AdminApi {
  const { most, defaultSeconds, longestSeconds } = IMPORT_WAITS;
  const send = async <T>(call: () => Promise<T>): Promise<T> => {
    for (let waits = 0; ; waits += 1) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof CtlFailure) || error.code !== 'too_many_requests' || waits === most)
          throw error;
        const waitMs = Math.min(error.retryAfterMs ?? defaultSeconds * 1000, longestSeconds * 1000);
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
