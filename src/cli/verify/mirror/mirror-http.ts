import { Agent, errors, request } from 'undici';
import type { HttpAnswer, SendHttp } from '../../../mirror/slipway-source.ts';
import { messageOf } from '../../../platform/errors.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import { receiveBody, type BodyLimits } from '../../../platform/http/receive-body.ts';
import { parseRetryAfter } from '../../../platform/http/retry-after.ts';
import type { Clock } from '../../../platform/process/clock.ts';

const HEADERS_TIMEOUT_MS = 30_000;
/** The reader of a body bounds its waits. */
const NO_TIMEOUT = 0;
/** How often a request waits for a server that asks for it. */
const MAX_WAITS = 4;
const WAIT_MAX_MS = 60_000;
/** A server that sends a byte now and then would keep a check for days. */
const BODY_LIMITS: BodyLimits = { stallTimeoutMs: 60_000, minimumBytesPerSecond: 1024 };

/** A server did not answer, or with a status that is not an answer. */
export class MirrorHttpError extends Error {
  /** `null` when there was no answer. */
  readonly status: number | null;
  /** Whether this request has taken minutes, and another one would take as long. */
  readonly isFinal: boolean;

  constructor(status: number | null, message: string, isFinal = false) {
    super(message);
    this.name = 'MirrorHttpError';
    this.status = status;
    this.isFinal = isFinal;
  }
}

type Answer = Awaited<ReturnType<typeof request>>;

interface MirrorHttp {
  readonly send: SendHttp;
  close(): Promise<void>;
}

/**
 * Makes the client of a check from outside: no redirects, no content codings unless a request asks for one, a bound on every wait. A server
 * that answers 429 or 503 with `Retry-After` is asked again after that time. An answer that comes too slowly fails.
 *
 * @param connections the most connections to one host
 * @param token for every request, or `null`
 * @param headersTimeout longest wait for an answer to begin, milliseconds
 */
export function createMirrorHttp(
  connections: number,
  token: string | null,
  clock: Clock,
  headersTimeout = HEADERS_TIMEOUT_MS,
): MirrorHttp {
  const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
  const agent = new Agent({ connections, headersTimeout, bodyTimeout: NO_TIMEOUT });
  const ask = async (
    { method, url, headers }: Parameters<SendHttp>[0],
    signal: AbortSignal,
  ): Promise<Answer> => {
    const response = await request(url, {
      dispatcher: agent,
      method,
      headers: {
        'user-agent': 'slipway-verify',
        'accept-encoding': 'identity',
        // A check of a mirror must not be answered from the memory of the server or of a cache in between.
        'cache-control': 'no-cache',
        ...authorization,
        ...headers,
      },
      signal,
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new MirrorHttpError(null, `${url}: ${reasonOf(error, url, headersTimeout)}`);
    });
    response.body.on('error', () => undefined); // the reader gets the same error from the iterator
    return response;
  };
  const send: SendHttp = async (asked, signal): Promise<HttpAnswer> => {
    const { url, accept } = asked;
    let response = await ask(asked, signal);
    for (let waits = 0; waits < MAX_WAITS && !accept.includes(response.statusCode); waits += 1) {
      const waitMs = requestedWait(response, clock);
      if (waitMs === null) break;
      response.body.destroy();
      // A limit of a mirror says nothing about its files.
      await clock.sleep(waitMs, signal);
      response = await ask(asked, signal);
    }
    const { statusCode: status, body } = response;
    if (!accept.includes(status)) {
      body.destroy();
      const isLimited = requestedWait(response, clock) !== null;
      throw new MirrorHttpError(status, `${url} answered ${status}${adviceOf(response, token)}`, isLimited);
    }
    return {
      status,
      headers: response.headers,
      chunks: () =>
        receiveBody(body, {
          limits: BODY_LIMITS,
          clock,
          stalled: (what) => new MirrorHttpError(null, `${url} ${what}`, true),
          failed: (error) => {
            signal.throwIfAborted();
            return error instanceof MirrorHttpError
              ? error
              : new MirrorHttpError(null, `${url}: the answer broke off (${messageOf(error)})`);
          },
        }),
      discard: () => {
        body.destroy();
      },
    };
  };
  return {
    send,
    close: async () => {
      await agent.destroy();
    },
  };
}

/** What OpenSSL says of an answer that is not TLS. */
const NOT_TLS: ReadonlySet<string | null> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
]);

function reasonOf(error: unknown, url: string, headersTimeout: number): string {
  if (error instanceof errors.HeadersTimeoutError) return `no answer within ${headersTimeout / 1000} s`;
  if (!NOT_TLS.has(errorCode(error))) return messageOf(error);
  return `this address speaks no TLS, so it is not https: it may be http://${new URL(url).host}`;
}

function requestedWait({ statusCode, headers }: Answer, clock: Clock): number | null {
  if (statusCode !== 429 && statusCode !== 503) return null;
  const waitMs = parseRetryAfter([headers['retry-after'] ?? []].flat()[0] ?? null, clock.now());
  return waitMs === null ? null : Math.min(waitMs, WAIT_MAX_MS);
}

function adviceOf({ statusCode: status, headers }: Answer, token: string | null): string {
  const { location } = headers;
  if (status >= 300 && status < 400 && location !== undefined)
    return ` and leads to ${[location].flat()[0] ?? ''}; no redirect is followed: check that URL itself`;
  if (status !== 401) return '';
  return token === null
    ? '; it wants a token: put it into a file, and name that with --token-file or --against-token-file'
    : '; it does not take this token';
}
