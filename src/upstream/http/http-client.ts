import { setMaxListeners } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request } from 'undici';
import type { Clock } from '../../platform/process/clock.ts';
import { failureOfStatus, failureOfTransport, headerOf } from './http-failures.ts';
import { contentCodingOf } from '../../platform/http/content-coding.ts';
import { createGuardedConnector } from './guarded-connector.ts';
import type { UpstreamConfiguration } from '../upstream-config.ts';
import { quoteText, redactUrl, type UpstreamLocation } from '../upstream-location.ts';
import { UpstreamError } from '../upstream.ts';
import { receiveBody, type BodyLimits } from '../../platform/http/receive-body.ts';
import type { Readable } from 'node:stream';

const MAX_REDIRECTS = 5;
const MAX_HEADER_BYTES = 32 * 1024;
/** Makes caches in between ask the origin. Source: RFC 9111, section 5.2.1.4. */
export const PAST_CACHES = { 'cache-control': 'no-cache' } as const;
/** How servers refuse a range, or the condition for it: the whole file may be there. */
export const RANGE_REFUSALS: readonly number[] = [400, 405, 412, 416, 501];
/** Bytes that are read of the body of a failure. */
const EXPLANATION_BYTES = 16 * 1024;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const ABSENCES = new Set([403, 404, 410]);

interface UpstreamRequest {
  readonly method: 'GET' | 'HEAD';
  /** Absolute http(s) URL without userinfo. */
  readonly url: string;
  /** An `accept-encoding` names one coding, which the caller decodes; without it, the bytes are asked for as they are. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the caller handles an answer with a content coding that was not asked for; without it, that is a failure. */
  readonly takesAnyCoding?: boolean;
  /** Reads the body of a failure: a sentence that says why, or `null`. It is added to the message. */
  readonly explain?: (body: Buffer) => string | null;
  /** Statuses that are an answer, not a failure. */
  readonly accept: readonly number[];
}

/** The head of an answer, and its body. One of `chunks` and `discard` must be used, or the connection stays taken. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The URL that answered, after redirects. */
  readonly url: string;
  readonly contentLength: number | null;
  /** The content coding of the body, in lower case; `null` when its bytes are plain. */
  readonly coding: string | null;
  /** The body; throws UpstreamError on a stall, a reset or a truncated body. Iterate once. */
  chunks(): AsyncIterable<Uint8Array>;
  /** Drops the body (and the connection, unless the body was empty). */
  discard(): void;
}

export interface UpstreamHttpClient {
  /**
   * Sends a request and follows redirects.
   *
   * @throws UpstreamError for every status that `request.accept` does not list, and the signal's reason when aborted
   */
  send(request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer>;
  close(): Promise<void>;
}

interface UpstreamHttpOptions {
  readonly configuration: UpstreamConfiguration;
  /** Credentials go to this origin alone, and it alone may have any address. */
  readonly location: UpstreamLocation;
  readonly allowOtherOrigins: boolean;
  readonly clock: Clock;
}

/**
 * Creates the HTTP client of one upstream: bounded connections, explicit timeouts, no content codings but those that the request asks for, redirects under
 * the origin rule, credentials only to the configured origin, and no private addresses of other origins.
 */
export function createUpstreamHttpClient(options: UpstreamHttpOptions): UpstreamHttpClient {
  const { configuration, location, clock } = options;
  const agent = new Agent({
    // One more than files are fetched, so that a catalog still being read cannot starve its own files.
    connections: configuration.concurrency + 1,
    pipelining: 1,
    headersTimeout: configuration.headersTimeoutMs,
    bodyTimeout: 0,
    connect: createGuardedConnector({
      timeoutMs: configuration.connectTimeoutMs,
      origin: location.origin,
      allowedRanges: configuration.allowedPrivateRanges,
    }),
    keepAliveTimeout: 30_000,
    maxHeaderSize: MAX_HEADER_BYTES,
  });

  const exchange = async (
    asked: UpstreamRequest,
    url: string,
    how: { readonly mayAuthorize: boolean; readonly pastCaches: boolean },
    signal: AbortSignal,
  ): Promise<Awaited<ReturnType<typeof request>>> => {
    const headers: Record<string, string> = {
      'user-agent': 'slipway',
      'accept-encoding': 'identity',
      ...asked.headers,
      ...(how.pastCaches ? PAST_CACHES : {}),
    };
    if (how.mayAuthorize && location.authorization !== null)
      headers['authorization'] = location.authorization;
    try {
      return await request(url, { dispatcher: agent, method: asked.method, headers, signal });
    } catch (error) {
      signal.throwIfAborted();
      throw failureOfTransport(error, url, false);
    }
  };

  return {
    async send(asked, signal) {
      signal.throwIfAborted();
      // Many requests share one task's signal; each adds a listener while it runs.
      setMaxListeners(0, signal);
      let url = asked.url;
      let isAtHome = true;
      let pastCaches = false;
      for (let hop = 0; ; hop += 1) {
        // Once a request has left the origin, no answer of another one leads credentials back to a path of its choice.
        isAtHome &&= new URL(url).origin === location.origin;
        const response = await exchange(asked, url, { mayAuthorize: isAtHome, pastCaches }, signal);
        const { statusCode: status, headers, body } = response;
        body.on('error', () => undefined); // the reader gets the same error from the iterator
        const finalUrl = url;
        const answer: UpstreamAnswer = {
          status,
          headers,
          url: finalUrl,
          contentLength: parseLength(headerOf(headers, 'content-length')),
          coding: contentCodingOf(headers),
          chunks: () => receiveUpstreamBody(body, { configuration, clock, signal, url: finalUrl }),
          discard: () => body.destroy(),
        };
        if (asked.accept.includes(status)) {
          checkCoding(asked, answer);
          return answer;
        }
        if (!pastCaches && isOfCache(status, headers)) {
          pastCaches = true;
          answer.discard();
          continue;
        }
        const target = headerOf(headers, 'location');
        if (!REDIRECTS.has(status) || target === null) throw await failureOf(asked, answer, clock.now());
        body.destroy();
        if (hop === MAX_REDIRECTS)
          throw refuse(`${redactUrl(asked.url)} redirects more than ${MAX_REDIRECTS} times`);
        url = redirectTarget(url, target, options.allowOtherOrigins);
      }
    },
    async close() {
      await agent.destroy();
    },
  };
}

/**
 * Whether a cache in between answers with what upstream need not say now: "not modified" although no condition was sent, or that there is
 * nothing, from its memory. Source: RFC 9111, section 5.1: an answer with `Age` does not come from the origin.
 */
function isOfCache(status: number, headers: IncomingHttpHeaders): boolean {
  return status === 304 || (ABSENCES.has(status) && headerOf(headers, 'age') !== null);
}

/** @throws UpstreamError for a coding that the request did not ask for, unless its sender handles it */
function checkCoding({ headers, takesAnyCoding }: UpstreamRequest, answer: UpstreamAnswer): void {
  const asks = headers?.['accept-encoding'] ?? 'identity';
  if (takesAnyCoding === true || answer.coding === null || answer.coding === asks) return;
  answer.discard();
  throw refuse(
    `${redactUrl(answer.url)} answered with Content-Encoding ${quoteText(answer.coding)} although ${asks} was requested`,
  );
}

/** Names the failure that an answer is, with the reason that its body gives where the request can read it. */
async function failureOf(
  asked: UpstreamRequest,
  answer: UpstreamAnswer,
  now: number,
): Promise<UpstreamError> {
  const failure = failureOfStatus(answer.status, answer.headers, answer.url, now);
  const { explain } = asked;
  if (explain === undefined || answer.coding !== null) {
    answer.discard();
    return failure;
  }
  const reason = explain(await beginningOf(answer));
  return reason === null ? failure : failure.withReason(reason);
}

/** The first bytes of a body that only explains a failure; fewer when it breaks off. */
export async function beginningOf(answer: UpstreamAnswer): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of answer.chunks()) {
      pieces.push(piece);
      size += piece.length;
      if (size >= EXPLANATION_BYTES) break;
    }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
  }
  return Buffer.concat(pieces);
}

function redirectTarget(from: string, target: string, allowOtherOrigins: boolean): string {
  const shown = redactUrl(from);
  if (!URL.canParse(target, from)) throw refuse(`${shown} redirects to something that is not a URL`);
  const next = new URL(target, from);
  const previous = new URL(from);
  if (next.protocol !== 'http:' && next.protocol !== 'https:') {
    throw refuse(`${shown} redirects to ${next.protocol}, only http and https are followed`);
  }
  if (previous.protocol === 'https:' && next.protocol === 'http:') {
    throw refuse(`${shown} redirects from https to http, which is not followed`);
  }
  if (next.origin !== previous.origin && !allowOtherOrigins) {
    throw refuse(`${shown} redirects to ${next.origin}; set allowOtherOrigins to follow it`);
  }
  next.username = '';
  next.password = '';
  next.hash = '';
  return next.href;
}

function parseLength(text: string | null): number | null {
  if (text === null || !/^[0-9]{1,16}$/.test(text)) return null;
  const length = Number(text);
  return Number.isSafeInteger(length) ? length : null;
}

function refuse(message: string): UpstreamError {
  return new UpstreamError('upstream_status', message);
}

interface BodyRules {
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
function receiveUpstreamBody(
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
