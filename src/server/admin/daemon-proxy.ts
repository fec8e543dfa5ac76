import { Agent, ServerResponse, type IncomingMessage } from 'node:http';

import type { Options, RequestHandler } from 'http-proxy-middleware';

import { JSON_MEDIA_TYPE } from '../../contract/json/media-types.ts';
import {
  HttpFailure,
  isJsonAnswer,
  readAnswer,
  withinDeadline,
  type BoundedAnswer,
} from '../../platform/http/http-client.ts';
import { traceHeaders } from '../../platform/logging/trace.ts';
import {
  CONTROL_MAX_BYTES,
  readDaemonToken,
  REPORT_MAX_BYTES,
  type DaemonAddress,
} from '../daemon-client/daemon-client.ts';
import { DaemonUnavailable, unavailableOf } from '../daemon-client/daemon-unavailable.ts';
import type { Exchange } from '../http/exchange.ts';

/** Maximum number of connections for reads, and so of their answers in memory. */
const READ_CONNECTIONS = 8;
const CONTROL_CONNECTIONS = 4;
/** Maximum number of reads in progress or waiting for a connection. A waiting read holds no answer. */
const MAX_READS = 512;

/** Longest report that is checked before it is sent. The check takes a few milliseconds of the event loop. */
const WHOLE_MAX_BYTES = 256 * 1024;

interface DaemonRequest {
  /** Path and query, from constants and validated values. */
  readonly path: string;
  /** Lower-case names. Those that every request has are added. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Forwards admitted requests of the admin surface to the daemon. */
export interface DaemonProxy {
  /**
   * Forwards a read. It ends when the client disconnects.
   *
   * @param options.mayStream whether a long report may be handed over before its end
   * @returns the complete answer with any status; the answer with its head alone where it is a long report
   * @throws DaemonUnavailable; the reason of `gone`
   */
  read(
    exchange: Exchange,
    request: DaemonRequest,
    options: { readonly gone: AbortSignal; readonly mayStream: boolean },
  ): Promise<BoundedAnswer | IncomingMessage>;
  /**
   * Forwards a control call, once. It continues when the client disconnects, because the audit line states its result.
   *
   * @throws DaemonUnavailable
   */
  control(exchange: Exchange, request: DaemonRequest): Promise<BoundedAnswer>;
  close(): void;
}

/** Makes the proxy: http-proxy-middleware with a fixed target. It connects to nothing before the first request. */
export function createDaemonProxy(daemon: DaemonAddress): DaemonProxy {
  const reads = new Agent({
    keepAlive: true,
    maxSockets: READ_CONNECTIONS,
    maxFreeSockets: READ_CONNECTIONS,
  });
  // If a kept connection closed, it would be unclear whether an action was carried out.
  const actions = new Agent({ keepAlive: false, maxSockets: CONTROL_CONNECTIONS });
  const read = createForward(daemon, { agent: reads, method: 'GET' });
  const control = createForward(daemon, { agent: actions, method: 'POST' });
  let reading = 0;

  return {
    read: async (exchange, request, { gone, mayStream }) => {
      if (reading >= MAX_READS) {
        throw new DaemonUnavailable('unreachable', `${MAX_READS} reads are already waiting for the daemon`);
      }
      reading += 1;
      try {
        return await read(exchange, request, gone, async (answer) => {
          if (mayStream && isLongReport(answer)) return answer;
          return await readWhole(answer, REPORT_MAX_BYTES);
        });
      } finally {
        reading -= 1;
      }
    },
    control: async ({ request }, sent) => {
      // The proxy ends a request whose response closes.
      const response = new ServerResponse(request);
      try {
        const { signal } = new AbortController();
        return await control(
          { request, response },
          sent,
          signal,
          async (answer) => await readWhole(answer, CONTROL_MAX_BYTES),
        );
      } finally {
        response.emit('close');
      }
    },
    close: () => {
      reads.destroy();
      actions.destroy();
    },
  };
}

interface Pending {
  readonly body: string | undefined;
  readonly onAnswer: (answer: IncomingMessage) => void;
  readonly onError: (error: Error) => void;
}

/** Makes the function that forwards requests of one method; `take` reads the answer, within the deadline. */
function createForward(
  { url, socketPath, readToken, timeoutMs }: DaemonAddress,
  { agent, method }: { agent: Agent; method: string },
) {
  const host = socketPath === undefined ? new URL(url).host : 'localhost';
  const pending = new WeakMap<IncomingMessage, Pending>();
  // The types of the library do not know `method`, which makes a GET of a HEAD.
  const options: Options & { readonly method: string } = {
    target: socketPath === undefined ? url : { protocol: 'http:', host: 'localhost', port: 80, socketPath },
    agent,
    method,
    selfHandleResponse: true,
    // The other default plugins log URLs and write their own error answers.
    ejectPlugins: true,
    on: {
      proxyReq: (outgoing, request, response) => {
        const { body, onError } = pending.get(request) ?? {};
        // The proxy itself leaves a request open whose client got its answer before the daemon gave one.
        if (response.closed) outgoing.destroy();
        else response.once('close', () => outgoing.destroy());
        // Without a listener Node closes the connection silently.
        outgoing.once('upgrade', ({ statusCode: status = 0 }, socket) => {
          socket.destroy();
          onError?.(new HttpFailure('answer_invalid', 'the answer changes the protocol', { status }));
        });
        if (body !== undefined && !outgoing.destroyed) outgoing.write(body);
      },
      proxyRes: (answer, request) => pending.get(request)?.onAnswer(answer),
      error: (error, request) => pending.get(request)?.onError(error),
      econnreset: (error, request) => pending.get(request)?.onError(error),
    },
  };
  // A server that only serves files never loads the library: it is a fifth of the processor time of a start.
  const openProxy = async (): Promise<RequestHandler> => {
    const { createProxyMiddleware, proxyEventsPlugin } = await import('http-proxy-middleware');
    return createProxyMiddleware({ ...options, plugins: [proxyEventsPlugin] });
  };
  let opened: Promise<RequestHandler> | null = null;

  return async <T extends BoundedAnswer | IncomingMessage>(
    exchange: Exchange,
    { path, headers, body }: DaemonRequest,
    gone: AbortSignal,
    take: (answer: IncomingMessage) => Promise<T>,
  ): Promise<T> => {
    const { request, response } = exchange;
    const token = await readDaemonToken(readToken);
    // The proxy forwards the fields of the request, so that nothing of the client may be left among them.
    request.headers = {
      host,
      accept: JSON_MEDIA_TYPE,
      'accept-encoding': 'identity',
      ...headers,
      ...traceHeaders(),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    };
    request.url = path;
    try {
      return await withinDeadline({ timeoutMs, signal: gone }, async (ended) => {
        opened ??= openProxy();
        const proxy = await opened;
        ended.throwIfAborted();
        const { promise, resolve, reject } = Promise.withResolvers<T>();
        ended.addEventListener('abort', () => reject(ended.reason), { once: true });
        pending.set(request, {
          body,
          onAnswer: (answer) => void take(answer).then(resolve, reject),
          onError: reject,
        });
        void proxy(request, response);
        return await promise;
      });
    } catch (error) {
      throw error instanceof HttpFailure ? unavailableOf(error) : error;
    }
  };
}

/** Whether an answer is a report that is too long to check before it is sent. The daemon declares every length. */
function isLongReport({ statusCode, headers }: IncomingMessage): boolean {
  const length = Number(headers['content-length'] ?? 0);
  return (
    statusCode === 200 &&
    length > WHOLE_MAX_BYTES &&
    length <= REPORT_MAX_BYTES &&
    headers['content-encoding'] === undefined &&
    isJsonAnswer({ contentType: headers['content-type'] ?? '' })
  );
}

/** An answer that is refused stays open until the client has its problem: the proxy would cut the client's response with it. */
async function readWhole(answer: IncomingMessage, maxBytes: number): Promise<BoundedAnswer> {
  const body = answer.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  return await readAnswer({ status: answer.statusCode ?? 0, headers: answer.headers, body }, { maxBytes });
}
