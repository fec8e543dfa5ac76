import type { Readable } from 'node:stream';
import { receiveBody, type BodyLimits } from '../../../platform/http/receive-body.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { failureOfTransport } from './http-failures.ts';
import { redactUrl } from '../upstream-location.ts';
import { UpstreamError } from '../upstream.ts';

/** The limits for receiving a body. */
export interface BodyRules {
  readonly configuration: BodyLimits;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly url: string;
}

/**
 * Iterates over the body of an answer of upstream, see {@link receiveBody}.
 *
 * @throws UpstreamError (`upstream_timeout`, `upstream_truncated`, `upstream_unreachable`), or the signal's reason
 */
export function receiveUpstreamBody(
  body: Readable,
  { configuration, clock, signal, url }: BodyRules,
): AsyncGenerator<Uint8Array, void> {
  return receiveBody(body, {
    limits: configuration,
    clock,
    stalled: (what) =>
      new UpstreamError('upstream_timeout', `${redactUrl(url)} ${what}`, { retryable: true }),
    failed: (error) => {
      signal.throwIfAborted();
      return failureOfTransport(error, url, true);
    },
  });
}
