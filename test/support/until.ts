import { setTimeout as delay } from 'node:timers/promises';

const INTERVAL_MS = 10;

/**
 * Asks again and again until the answer is something else than `null`, `undefined` or `false`. For what other processes
 * do; inside one process wait for the event itself.
 *
 * @param probe its errors count as "not yet"; the last one is shown when time runs out
 * @throws Error after `deadlineMs`
 */
export async function until<T>(
  probe: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  deadlineMs = 10_000,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  let last: unknown = 'the probe never answered';
  for (;;) {
    try {
      const answer = await probe();
      if (answer !== null && answer !== undefined && answer !== false) return answer;
      last = answer;
    } catch (error) {
      last = error;
    }
    if (performance.now() >= end) {
      throw new Error(`not reached within ${deadlineMs} ms; last answer: ${String(last)}`, { cause: last });
    }
    await delay(INTERVAL_MS);
  }
}
