import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

/** The pause between two probes grows, so that long waits leave the processor to other programs. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 100;
const PAUSE_GROWTH = 1.4;

/**
 * A wait ends a little before its test does, so that the test fails with what it waited for; vitest.config.ts sets it. The set-up of
 * a tier has no such end.
 */
export const WAIT_MS = Number(process.env['SLIPWAY_TEST_WAIT_MS'] ?? 600_000);

/**
 * Probes repeatedly until the answer is neither `null`, `undefined` nor `false`. Use it to wait for another process;
 * inside one process wait for the event itself.
 *
 * @param probe its errors count as "not yet"; the last one is shown when time runs out
 * @param longestPauseMs more for a probe that is expensive
 * @throws Error after `deadlineMs`
 */
export async function until<T>(
  probe: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  deadlineMs = WAIT_MS,
  longestPauseMs = LONGEST_PAUSE_MS,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  let last: unknown = 'the probe never answered';
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * PAUSE_GROWTH, longestPauseMs)) {
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
    await delay(pause);
  }
}
