import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { parseJsonExact } from '../../contract/json/json-exact.ts';
import { collectBounded } from '../memory/collect-bounded.ts';
import { errorCode } from '../files/error-code.ts';
import { JSON_MEDIA_TYPE } from '../../contract/json/media-types.ts';

/** How the connections of a client are made and kept. */
export interface HttpClientOptions {
  /** Maximum number of connections to one origin at a time; further calls wait for a free one. */
  readonly connections: number;
  /** Keeps idle connections for later calls. */
  readonly keepAlive: boolean;
  /** Unix socket to connect to instead of the host of the URL. */
  readonly socketPath?: string | undefined;
}

export interface HttpCall {
  readonly url: URL | string;
  /** Default `GET`. */
  readonly method?: 'GET' | 'POST' | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as a bearer token; `null` or absent for none. */
  readonly token?: string | null | undefined;
  readonly body?: string | undefined;
  /** Milliseconds until the whole answer must have arrived. */
  readonly timeoutMs: number;
  /** Largest body of the answer, bytes. */
  readonly maxBytes: number;
  /** Lower-case names of the headers that the answer must hand over. */
  readonly wantedHeaders?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A whole answer, of any status. */
export interface BoundedAnswer {
  readonly status: number;
  /** Empty when the answer has none. */
  readonly contentType: string;
  readonly etag: string | null;
  /** The header `Retry-After` as it came; absent when the answer has none. */
  readonly retryAfter?: string | undefined;
  /** Those of {@link HttpCall.wantedHeaders} that the answer has, by name; absent when the call wanted none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body: Buffer;
}

/** Kinds of failures that make an answer unusable. */
export type HttpFailureCode =
  | 'unreachable'
  | 'timeout'
  | 'answer_too_large'
  | 'answer_type'
  | 'answer_invalid';

/** A call got no whole answer, or one that cannot be used. */
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

/** Whether a call failed before there was a connection, so that nobody can have received it. */
export function neverConnected({ cause }: HttpFailure): boolean {
  // Node tries each address of a host, and reports their errors together.
  const errors: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  return errors.every(
    (error) => error instanceof Error && 'syscall' in error && BEFORE_SENDING.has(error.syscall),
  );
}

/** Sends requests to services of our own and reads their answers whole, within bounds. */
export interface HttpClient {
  /**
   * Sends a request. Redirects are not followed. A GET is sent again if its kept connection was closed by the server
   * before the answer began; anything else is sent once, because it may have been carried out.
   *
   * @throws HttpFailure; the reason of `call.signal` when that is aborted
   *
   * Source: RFC 9110, section 9.2.2; RFC 9112, section 9.3.1.
   */
  send(call: HttpCall): Promise<BoundedAnswer>;
  /** Closes all connections; pending calls fail. */
  close(): void;
}

/** Largest head of an answer, bytes. */
const HEAD_MAX_BYTES = 16 * 1024;

interface Transport {
  readonly request: (url: URL, options: RequestOptions, onAnswer?: undefined) => ClientRequest;
  readonly agent: Agent;
}

/** Makes a client. It opens no connection before the first call. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const transports = new Map<string, Transport>();

  /** Loads TLS only for https, which costs some MiB. */
  const transportFor = async (protocol: string): Promise<Transport> => {
    const module = protocol === 'https:' ? await import('node:https') : await import('node:http');
    const known = transports.get(protocol);
    if (known !== undefined) return known;
    const agent = new module.Agent({ keepAlive: options.keepAlive, maxSockets: options.connections });
    const transport: Transport = { request: module.request, agent };
    transports.set(protocol, transport);
    return transport;
  };

  /** Sends once. @returns `null` when a kept connection turned out to be closed */
  const attempt = async (call: HttpCall, url: URL, signal: AbortSignal): Promise<IncomingMessage | null> => {
    const { request, agent } = await transportFor(url.protocol);
    const { method = 'GET', token = null, body } = call;
    const outgoing = request(url, {
      agent,
      method,
      signal,
      maxHeaderSize: HEAD_MAX_BYTES,
      headers: {
        accept: JSON_MEDIA_TYPE,
        'accept-encoding': 'identity',
        ...call.headers,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      },
      ...(options.socketPath === undefined ? {} : { socketPath: options.socketPath }),
    });
    const head = headOf(outgoing);
    outgoing.end(body);
    try {
      return await head;
    } catch (error) {
      const isStale = outgoing.reusedSocket && isReset(error) && method === 'GET' && !signal.aborted;
      if (isStale) return null;
      throw error;
    }
  };

  return {
    send: async (call) =>
      await withinDeadline(call, async (signal) => {
        const url = new URL(call.url);
        let answer: IncomingMessage | null = null;
        // Each failure removes one kept connection, so the loop ends with a fresh one at the latest.
        while (answer === null) answer = await attempt(call, url, signal);
        return await readAnswer(answer, call.maxBytes, call.wantedHeaders);
      }),
    close: () => {
      for (const { agent } of transports.values()) agent.destroy();
    },
  };
}

/**
 * Waits for the head of the answer to a request.
 *
 * @throws HttpFailure `answer_invalid` for 101: Node emits neither a response nor an error for it, and this client asks for
 *   no upgrade; errors of the request as they are
 *
 * Source: RFC 9110, section 15.2.2.
 */
async function headOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.once('response', resolve);
  outgoing.once('upgrade', ({ statusCode: status = 0 }, socket) => {
    socket.destroy();
    reject(
      new HttpFailure('answer_invalid', 'the answer changes the protocol of the connection', { status }),
    );
  });
  // After the head, the answer itself reports errors, and the listener stays so that none is uncaught.
  outgoing.on('error', reject);
  outgoing.once('close', () => {
    reject(new Error('the connection was closed before an answer came'));
  });
  return await promise;
}

/**
 * Runs one exchange within its deadline, and names its failure.
 *
 * @param effect gets a signal that is aborted by the deadline and by `limits.signal`
 * @throws HttpFailure `timeout`, or `unreachable` for any error of the network; the reason of `limits.signal` when that
 *   is aborted; an HttpFailure of `effect` as it is
 */
export async function withinDeadline<T>(
  limits: Pick<HttpCall, 'timeoutMs' | 'signal'>,
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
 * Reads an answer whole.
 *
 * @throws HttpFailure `answer_too_large` beyond `maxBytes`, `answer_type` for a content coding; stream errors as they are
 */
export async function readAnswer(
  answer: IncomingMessage,
  maxBytes: number,
  wantedHeaders?: readonly string[],
): Promise<BoundedAnswer> {
  const { statusCode: status = 0, headers } = answer;
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding !== 'identity') {
    discard(answer);
    throw new HttpFailure('answer_type', 'the answer has a content coding, which was not accepted', {
      status,
    });
  }
  const body = await collectBounded(answer as AsyncIterable<Buffer>, maxBytes, () => {
    discard(answer);
    return new HttpFailure('answer_too_large', `the answer exceeds ${maxBytes} bytes`, { status });
  });
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
  headers: IncomingMessage['headers'],
  names: readonly string[],
): Readonly<Record<string, string>> {
  const found = names.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return Object.fromEntries(found);
}

/** A JSON media type. Source: RFC 6839, section 3.1. */
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i;

/** Whether an answer says that its body is JSON. */
export function isJsonAnswer({ contentType }: Pick<BoundedAnswer, 'contentType'>): boolean {
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

/** Describes a network error, with its code where it has one. */
function describeNetworkError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Node hides the attempts on several addresses in an error without a message.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const shown = first instanceof Error ? first : error;
  const code = errorCode(shown);
  if (shown.message === '') return code ?? shown.name;
  return code === null || shown.message.includes(code) ? shown.message : `${code}: ${shown.message}`;
}

/** Gives up an answer together with its connection. */
function discard(answer: IncomingMessage): void {
  // Destroying the stream early emits an error that nobody else listens for.
  answer.once('error', () => undefined);
  answer.destroy();
}

function isReset(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE'].includes(errorCode(error) ?? '');
}
