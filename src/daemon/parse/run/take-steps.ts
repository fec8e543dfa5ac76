import { setImmediate } from 'node:timers/promises';

/**
 * Runs work that pauses after each step, and lets the thread answer calls between two steps.
 *
 * @param check is called before each step; its error ends the work
 */
export async function takeSteps<T>(
  steps: Generator<void, T>,
  signal: AbortSignal,
  check: () => void = () => undefined,
): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    check();
    const { done, value } = steps.next();
    if (done === true) return value;
    await setImmediate();
  }
}
