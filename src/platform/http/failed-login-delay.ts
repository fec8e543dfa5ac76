import { setTimeout as delay } from 'node:timers/promises';

interface FailedLoginDelayOptions {
  readonly delayMs: number;
  /** Maximum number of failed logins that wait at the same time; further ones are answered without a delay. */
  readonly maxWaiting: number;
}

const DEFAULTS: FailedLoginDelayOptions = { delayMs: 100, maxWaiting: 64 };

/**
 * Makes the function that delays the answer to a wrong token, which slows down guessing. It is called only after a token
 * was found to be wrong, so a caller with the right token never waits.
 */
export function createFailedLoginDelay({ delayMs, maxWaiting } = DEFAULTS): () => Promise<void> {
  let waiting = 0;
  return async () => {
    if (waiting >= maxWaiting) return;
    waiting += 1;
    try {
      await delay(delayMs, undefined, { ref: false });
    } finally {
      waiting -= 1;
    }
  };
}
