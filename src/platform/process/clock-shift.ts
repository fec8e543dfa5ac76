import type { Clock } from './clock.ts';

/** A smaller difference is the normal correction of a clock, in milliseconds. */
export const CLOCK_SHIFT_TOLERANCE_MS = 5000;

/**
 * Measures how far the wall clock is moved, by an operator, by a time service, or because the machine slept.
 *
 * @returns a function that returns the milliseconds by which the wall clock was moved since this call, negative for back
 */
export function measureClockShift(clock: Clock): () => number {
  const offset = clock.now() - clock.monotonic();
  return () => clock.now() - clock.monotonic() - offset;
}
