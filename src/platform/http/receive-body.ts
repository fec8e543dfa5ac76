import type { Readable } from 'node:stream';
import type { Clock } from '../process/clock.ts';

export interface BodyLimits {
  /** Longest wait for the next bytes, and the time in which the rate is measured, milliseconds. */
  readonly stallTimeoutMs: number;
  /** Lowest rate while this process waits for the sender. */
  readonly minimumBytesPerSecond: number;
}

interface ReceiveOptions {
  readonly limits: BodyLimits;
  readonly clock: Clock;
  /** Makes the error for a sender that is too slow, from words such as `sent nothing for 30000 ms`. */
  readonly stalled: (what: string) => Error;
  /** Makes the error that a failure of the body ends in, also one that `stalled` made. */
  readonly failed: (error: unknown) => unknown;
}

/**
 * Iterates over a response body with a limit on each wait and a lowest rate. Only time spent waiting for the sender
 * counts: a reader that is slow itself never makes a body look stalled.
 *
 * @throws what `failed` makes
 */
export async function* receiveBody(
  body: Readable,
  { limits, clock, stalled, failed }: ReceiveOptions,
): AsyncGenerator<Uint8Array, void> {
  const { stallTimeoutMs, minimumBytesPerSecond } = limits;
  let waiting = true;
  let waitStarted = clock.monotonic();
  let waitedMs = 0;
  let windowBytes = 0;
  const timer = setTimeout(() => {
    if (waiting) body.destroy(stalled(`sent nothing for ${stallTimeoutMs} ms`));
  }, stallTimeoutMs);
  timer.unref();
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      waiting = false;
      waitedMs += clock.monotonic() - waitStarted;
      windowBytes += chunk.length;
      if (waitedMs >= stallTimeoutMs) {
        if (windowBytes < (minimumBytesPerSecond * waitedMs) / 1000) {
          throw stalled(`sends fewer than ${minimumBytesPerSecond} bytes a second`);
        }
        waitedMs = 0;
        windowBytes = 0;
      }
      yield chunk;
      waitStarted = clock.monotonic();
      waiting = true;
      timer.refresh();
    }
  } catch (error) {
    throw failed(error);
  } finally {
    clearTimeout(timer);
    body.destroy();
  }
}
