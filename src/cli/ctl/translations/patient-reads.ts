import { z } from 'zod';
import type { AdminAnswer, AdminApi } from '../admin-api.ts';
import type { CtlContext } from '../ctl-context.ts';
import { isTransient } from '../ctl-exits.ts';

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 4000;
/** Reads of one page before it is given up; they wait 8 s in sum. */
const MAX_READS = 6;

const BUSY = z.looseObject({ translations: z.looseObject({ available: z.literal(false) }) });

/**
 * Reads again for a while when the daemon restarts, or when its work on a release keeps it from answering: a command reads many
 * pages. A service that has never answered is not waited for, and calls that change something are sent once.
 */
export function patientReads({ api, clock, signal }: CtlContext): AdminApi {
  let hasAnswered = false;
  const read = async (...request: Parameters<AdminApi['get']>): Promise<AdminAnswer | null> => {
    const answer = await api.get(...request);
    return BUSY.safeParse(answer.value).success ? null : answer;
  };
  return {
    post: async (...request) => await api.post(...request),
    get: async (...request) => {
      let wait = FIRST_WAIT_MS;
      for (let reads = 1; reads < MAX_READS; reads += 1) {
        try {
          const answer = await read(...request);
          hasAnswered = true;
          if (answer !== null) return answer;
        } catch (error) {
          if (!hasAnswered || !isTransient(error)) throw error;
        }
        await clock.sleep(wait, signal);
        wait = Math.min(LONGEST_WAIT_MS, wait * 2);
      }
      return await api.get(...request);
    },
  };
}
