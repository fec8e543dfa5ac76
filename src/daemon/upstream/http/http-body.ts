import type { Readable } from 'node:stream';
import type { Clock } from '../../../platform/process/clock.ts';
import { failureOfTransport } from './http-failures.ts';
import type { UpstreamConfiguration } from '../upstream-config.ts';
import { redactUrl } from '../upstream-location.ts';
import { UpstreamError } from '../upstream.ts';

/** The limits for receiving a body. */
export interface BodyRules {
  readonly configuration: Pick<UpstreamConfiguration, 'stallTimeoutMs' | 'minimumBytesPerSecond'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly url: string;
}

/**
 * Iterates over a response body with a limit on each wait and a lowest rate. Only time spent waiting for upstream
 * counts: a reader that is slow itself never makes a body look stalled.
 *
 * @throws UpstreamError (`upstream_timeout`, `upstream_truncated`, `upstream_unreachable`), or the signal's reason
 */
export async function* receiveBody(body: Readable, rules: BodyRules): AsyncGenerator<Uint8Array, void> {
  const { configuration, clock, signal, url } = rules;
  const { stallTimeoutMs, minimumBytesPerSecond } = configuration;
  let waiting = true;
  let waitStarted = clock.monotonic();
  let waitedMs = 0;
  let windowBytes = 0;
  const timer = setTimeout(() => {
    if (waiting) body.destroy(stalled(url, `sent nothing for ${stallTimeoutMs} ms`));
  }, stallTimeoutMs);
  timer.unref();
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      waiting = false;
      waitedMs += clock.monotonic() - waitStarted;
      windowBytes += chunk.length;
      if (waitedMs >= stallTimeoutMs) {
        if (windowBytes < (minimumBytesPerSecond * waitedMs) / 1000) {
          throw stalled(url, `sends fewer than ${minimumBytesPerSecond} bytes a second`);
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
    signal.throwIfAborted();
    throw failureOfTransport(error, url, true);
  } finally {
    clearTimeout(timer);
    body.destroy();
  }
}

function stalled(url: string, what: string): UpstreamError {
  return new UpstreamError('upstream_timeout', `${redactUrl(url)} ${what}`, { retryable: true });
}
