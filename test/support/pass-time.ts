import { setTimeout as delay } from 'node:timers/promises';

/**
 * Lets real time pass, so that a test varies the point at which a kill falls. The processor stays with the processes that are
 * killed.
 *
 * @param milliseconds at least
 */
export async function passTime(milliseconds: number): Promise<void> {
  await delay(milliseconds);
}
