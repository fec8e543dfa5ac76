import { request as requestPlain, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as requestSecure, type RequestOptions as SecureOptions } from 'node:https';
import { collectBounded } from '../../platform/memory/collect-bounded.ts';

/** One request whose answer is read whole. */
export interface BoundedRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Connection settings: agent, TLS. */
  readonly connection: RequestOptions & SecureOptions;
  /** Milliseconds for the whole exchange. */
  readonly timeoutMs: number;
  /** Most bytes of the answer. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** A whole answer. */
export interface BoundedResponse {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** The exchange failed before a whole answer was there. */
export class ExchangeFailed extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ExchangeFailed';
  }
}

/**
 * Sends one request, once, and reads the answer.
 *
 * @throws ExchangeFailed for whatever happens below HTTP, a deadline and an answer that is too large; the signal's reason
 */
export async function exchange(options: BoundedRequest): Promise<BoundedResponse> {
  const deadline = AbortSignal.timeout(options.timeoutMs);
  const signal = options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline]);
  try {
    const response = await openResponse({ ...options, signal });
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      body: await collectBounded(response as AsyncIterable<Buffer>, options.maxBytes, () => {
        response.destroy();
        return new ExchangeFailed(`the answer exceeds ${options.maxBytes} bytes`);
      }),
    };
  } catch (error) {
    if (error instanceof ExchangeFailed) throw error;
    if (options.signal?.aborted === true) throw options.signal.reason;
    if (deadline.aborted)
      throw new ExchangeFailed(`no complete answer within ${options.timeoutMs} ms`, error);
    throw new ExchangeFailed(describeFailure(error), error);
  }
}

/**
 * Sends one request and gives the answer as it begins; its body is not read.
 *
 * @throws the error of Node as it is
 */
export async function openResponse(
  options: Omit<BoundedRequest, 'timeoutMs' | 'maxBytes'>,
): Promise<IncomingMessage> {
  const { url, method, headers, body, connection, signal } = options;
  const send = url.protocol === 'https:' ? requestSecure : requestPlain;
  return await new Promise<IncomingMessage>((resolve, reject) => {
    const request = send(
      url,
      {
        ...connection,
        method,
        headers: body === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(body) },
        ...(signal === undefined ? {} : { signal }),
      },
      resolve,
    );
    request.once('error', reject);
    request.end(body);
  });
}

/** Words for an error of the network. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Node hides the attempts on several addresses in an error without a message.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const shown = first instanceof Error ? first : error;
  return shown.message === '' ? shown.name : shown.message;
}
