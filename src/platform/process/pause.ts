import type { Clock } from './clock.ts';

/** Sleeps; ends early without an error when the signal is aborted. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
