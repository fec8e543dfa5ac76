import type { IncomingHttpHeaders } from 'node:http';
import { parseRetryAfter } from '../../platform/http/retry-after.ts';
import { UpstreamError } from '../upstream.ts';
import { redactUrl } from '../upstream-location.ts';

const TIMEOUT_CODES = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
]);
const TRUNCATION_CODES = new Set([
  'UND_ERR_SOCKET',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_INFO',
  'HPE_INVALID_EOF_STATE',
]);

const MALFORMED_CODES = new Set([
  'HTTPParserError',
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
]);

/** The first value of a response header, or `null`. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  if (value === undefined) return null;
  return Array.isArray(value) ? (value[0] ?? null) : value;
}

/**
 * Names the failure that an answer with this status is.
 *
 * @param status an HTTP status that is not the answer hoped for
 * @param now Unix milliseconds
 */
export function failureOfStatus(
  status: number,
  headers: IncomingHttpHeaders,
  url: string,
  now: number,
): UpstreamError {
  const shown = redactUrl(url);
  const retryAfterMs = parseRetryAfter(headerOf(headers, 'retry-after'), now);
  if (status === 404 || status === 410) {
    return new UpstreamError('upstream_not_found', `${shown} does not exist upstream (status ${status})`);
  }
  if (status === 304) {
    return new UpstreamError(
      'upstream_not_modified',
      `${shown} answered "not modified" (status 304) to a request without a condition: a cache in between is broken, ` +
        'or keeps the validators of somebody else',
      { retryable: true },
    );
  }
  // Some limits of requests are told with 403, and then with the time to wait.
  if (status === 429 || status === 503 || (status === 403 && retryAfterMs !== null)) {
    return new UpstreamError('upstream_throttled', `${shown} asks to retry later (status ${status})`, {
      retryable: true,
      retryAfterMs,
    });
  }
  if (status === 408) {
    return new UpstreamError('upstream_timeout', `${shown} gave up waiting (status 408)`, {
      retryable: true,
      retryAfterMs,
    });
  }
  if (status === 403) {
    return new UpstreamError(
      'upstream_closed',
      `${shown} is closed (status 403): upstream is under maintenance or has not opened it yet; ` +
        'if that lasts, check the credentials in the upstream URL and its access rules',
    );
  }
  // Too Early, and Misdirected Request: the same request can be answered on another connection.
  const retryable = status >= 500 || status === 425 || status === 421;
  const hint = status === 401 ? ': check the credentials in the upstream URL' : '';
  return new UpstreamError('upstream_status', `${shown} answered with status ${status}${hint}`, {
    retryable,
    retryAfterMs: retryable ? retryAfterMs : null,
  });
}

/**
 * Names the failure that a thrown error of the HTTP client is.
 *
 * @param error what the client threw
 * @param inBody whether the head of the answer had arrived
 */
export function failureOfTransport(error: unknown, url: string, inBody: boolean): UpstreamError {
  if (error instanceof UpstreamError) return error;
  const code = codeOf(error);
  const shown = redactUrl(url);
  if (TIMEOUT_CODES.has(code)) {
    return new UpstreamError('upstream_timeout', `${shown} did not answer in time (${code})`, {
      retryable: true,
      cause: error,
    });
  }
  if (inBody && TRUNCATION_CODES.has(code)) {
    return new UpstreamError('upstream_truncated', `${shown} closed the connection before the body ended`, {
      retryable: true,
      cause: error,
    });
  }
  const what = isMalformed(code) ? 'sent no valid HTTP answer' : 'cannot be reached';
  return new UpstreamError('upstream_unreachable', `${shown} ${what} (${code})`, {
    retryable: true,
    cause: error,
  });
}

/** Whether something answered, and it was not HTTP as it should be. */
function isMalformed(code: string): boolean {
  return code.startsWith('HPE_') || MALFORMED_CODES.has(code);
}

function codeOf(error: unknown): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    const code = (current as NodeJS.ErrnoException).code;
    if (typeof code === 'string' && code !== '') return code;
    // Several addresses tried: each attempt's error is inside.
    if (current instanceof AggregateError && current.errors.length > 0) return codeOf(current.errors[0]);
  }
  return error instanceof Error ? error.name : 'unknown error';
}
