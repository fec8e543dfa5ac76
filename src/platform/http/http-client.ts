import type { IncomingHttpHeaders } from 'node:http';

import { Agent, errors, request as sendRequest, type Dispatcher } from 'undici';
import { parseJsonExact } from '../../contract/json/json-exact.ts';
import { collectBounded } from '../memory/collect-bounded.ts';
import { errorCode } from '../files/error-code.ts';
import { JSON_MEDIA_TYPE } from '../../contract/json/media-types.ts';

export interface HttpClientOptions {
  /** Maximum number of connections to one origin at a time; further calls wait for a free one. */
  readonly connections: number;
  readonly keepAlive: boolean;
  /** Unix socket to connect to instead of the host of the URL. */
  readonly socketPath?: string | undefined;
}

export interface HttpCall {
  readonly url: URL | string;
  readonly method?: 'GET' | 'POST' | 'DELETE' | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as a bearer token; `null` or absent for none. */
  readonly token?: string | null | undefined;
  readonly body?: string | undefined;
  /** Milliseconds until the complete answer must have arrived. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Lower-case names of the headers that the answer must hand over. */
  readonly wantedHeaders?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A complete answer, of any status. */
export interface BoundedAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly etag: string | null;
  /** The header `Retry-After` as it came; absent when the answer has none. */
  readonly retryAfter?: string | undefined;
  /** Those of {@link HttpCall.wantedHeaders} that the answer has, by name; absent when the call wanted none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body: Buffer;
}

export type HttpFailureCode =
  | 'unreachable'
  | 'timeout'
  | 'answer_too_large'
  | 'answer_type'
  | 'answer_invalid';

/** A call got no complete answer, or one that cannot be used. */
export class HttpFailure extends Error {
  readonly code: HttpFailureCode;
  /** Status of the answer; `null` when there was none. */
  readonly status: number | null;

  constructor(
    code: HttpFailureCode,
    message: string,
    options: { readonly status?: number; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'HttpFailure';
    this.code = code;
    this.status = options.status ?? null;
  }
}

/** System calls of an error that comes before the request can have been sent. */
const BEFORE_SENDING: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo']);

/** Whether a call failed before there was a connection, so that it cannot have been received. */
export function neverConnected({ cause }: HttpFailure): boolean {
  // Node tries each address of a host, and reports their errors together.
  const errors: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  return errors.every(
    (error) => error instanceof Error && 'syscall' in error && BEFORE_SENDING.has(error.syscall),
  );
}

/** Sends requests to services of our own and reads their complete answers, within bounds. */
export interface HttpClient {
  /**
   * Sends a request. Redirects are not followed. A GET is sent once more if its connection was closed before
   * the answer began, as a kept one may be; anything else is sent once, because it may have been carried out.
   *
   * @throws HttpFailure; the reason of `call.signal` when that is aborted
   *
   * Source: RFC 9110, section 9.2.2; RFC 9112, section 9.3.1.
   */
  send(call: HttpCall): Promise<BoundedAnswer>;
  close(): void;
}

const HEAD_MAX_BYTES = 16 * 1024;

/** Makes a client. It opens no connection before the first call. */
export function createHttpClient({ connections, keepAlive, socketPath }: HttpClientOptions): HttpClient {
  const dispatcher = new Agent({
    connections,
    pipelining: keepAlive ? 1 : 0,
    allowH2: false,
    maxHeaderSize: HEAD_MAX_BYTES,
    // The deadline of the call holds for everything.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: 0, ...(socketPath === undefined ? {} : { socketPath }) },
  });

  const send = async (call: HttpCall, signal: AbortSignal): Promise<Dispatcher.ResponseData> => {
    const { method = 'GET', token = null, body } = call;
    return await sendRequest(call.url, {
      dispatcher,
      method,
      signal,
      headers: {
        accept: JSON_MEDIA_TYPE,
        'accept-encoding': 'identity',
        ...call.headers,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body }),
    });
  };

  /** As `send`; a GET again where a peer that started again has closed the connections that were kept. Each may fail once. */
  const sendPatiently = async (call: HttpCall, signal: AbortSignal): Promise<Dispatcher.ResponseData> => {
    for (let retries = call.method === undefined || call.method === 'GET' ? connections : 0; ; retries -= 1) {
      try {
        return await send(call, signal);
      } catch (error) {
        if (isUpgrade(error)) {
          throw new HttpFailure('answer_invalid', 'the answer changes the protocol of the connection');
        }
        if (retries === 0 || signal.aborted || !isClosedEarly(error)) throw error;
      }
    }
  };

  return {
    send: async (call) =>
      await withinDeadline(call, async (signal) => {
        const { statusCode, headers, body } = await sendPatiently(call, signal);
        try {
          return await readAnswer({ status: statusCode, headers, body }, call);
        } catch (error) {
          // The connection goes with an answer that is not read to its end; nobody else listens for the error.
          body.on('error', () => undefined).destroy();
          throw error;
        }
      }),
    close: () => {
      void dispatcher.destroy();
    },
  };
}

/**
 * Runs one exchange within its deadline, and names its failure.
 *
 * @param effect gets a signal that is aborted by the deadline and by `limits.signal`
 * @throws HttpFailure `timeout`, or `unreachable` for any error of the network; the reason of `limits.signal` when that
 *   is aborted; an HttpFailure of `effect` as it is
 */
export async function withinDeadline<T>(
  limits: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
  effect: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { timeoutMs } = limits;
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    return await effect(limits.signal === undefined ? deadline : AbortSignal.any([limits.signal, deadline]));
  } catch (error) {
    if (error instanceof HttpFailure) throw error;
    if (limits.signal?.aborted === true) throw limits.signal.reason;
    if (deadline.aborted) {
      throw new HttpFailure('timeout', `no complete answer within ${timeoutMs} ms`, { cause: error });
    }
    throw new HttpFailure('unreachable', describeNetworkError(error), { cause: error });
  }
}

/**
 * Reads a complete answer.
 *
 * @throws HttpFailure `answer_too_large` beyond `maxBytes`, `answer_type` for a content coding; stream errors as they are
 */
export async function readAnswer(
  {
    status,
    headers,
    body: received,
  }: {
    readonly status: number;
    readonly headers: IncomingHttpHeaders;
    readonly body: AsyncIterable<Uint8Array>;
  },
  { maxBytes, wantedHeaders }: { maxBytes: number; wantedHeaders?: readonly string[] | undefined },
): Promise<BoundedAnswer> {
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding !== 'identity') {
    throw new HttpFailure('answer_type', 'the answer has a content coding, which was not accepted', {
      status,
    });
  }
  const body = await collectBounded(
    received,
    maxBytes,
    () => new HttpFailure('answer_too_large', `the answer exceeds ${maxBytes} bytes`, { status }),
  );
  const retryAfter = headers['retry-after'];
  return {
    status,
    contentType: headers['content-type'] ?? '',
    etag: headers.etag ?? null,
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(wantedHeaders === undefined ? {} : { headers: pickHeaders(headers, wantedHeaders) }),
    body,
  };
}

function pickHeaders(
  headers: IncomingHttpHeaders,
  names: readonly string[],
): Readonly<Record<string, string>> {
  const found = names.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return Object.fromEntries(found);
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i;

/** Whether an answer says that its body is JSON. */
export function isJsonAnswer({ contentType }: { contentType: string }): boolean {
  return JSON_TYPE.test(contentType);
}

/**
 * Parses the body of an answer; integers beyond 2^53 become bigint.
 *
 * @param options.strict also rejects repeated keys and a byte order mark
 * @throws HttpFailure `answer_type` when it is not declared as JSON, `answer_invalid` when it is not JSON in UTF-8
 */
export function parseJsonAnswer(answer: BoundedAnswer, options: { readonly strict?: boolean } = {}): unknown {
  const { status, contentType, body } = answer;
  if (!isJsonAnswer(answer)) {
    const type = contentType.slice(0, 80);
    throw new HttpFailure('answer_type', `the answer has the type "${type}" instead of JSON`, {
      status,
    });
  }
  const strict = options.strict === true;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: strict }).decode(body);
    return parseJsonExact(text, { strict });
  } catch (cause) {
    throw new HttpFailure('answer_invalid', 'the answer is not valid JSON', { status, cause });
  }
}

function describeNetworkError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Node hides the attempts on several addresses in an error without a message.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const shown = first instanceof Error ? first : error;
  const code = errorCode(shown);
  if (shown.message === '') return code ?? shown.name;
  return code === null || shown.message.includes(code) ? shown.message : `${code}: ${shown.message}`;
}

/** Whether a connection was closed before an answer began, as a kept one is after the idle time of its server. */
function isClosedEarly(error: unknown): boolean {
  return error instanceof errors.SocketError || ['ECONNRESET', 'EPIPE'].includes(errorCode(error) ?? '');
}

/** Whether a server answered 101, which this client does not ask for. Source: RFC 9110, section 15.2.2. */
function isUpgrade(error: unknown): boolean {
  return error instanceof errors.SocketError && error.message === 'bad upgrade';
}
