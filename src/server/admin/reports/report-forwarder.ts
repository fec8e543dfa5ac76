import { Agent, type IncomingMessage } from 'node:http';

import { createProxyMiddleware } from 'http-proxy-middleware';

import { JSON_MEDIA_TYPE } from '../../../contract/json/media-types.ts';
import type { ReportName } from '../../../contract/reports/reports.ts';
import { HttpFailure, readAnswer, type BoundedAnswer } from '../../../platform/http/http-client.ts';
import { REPORT_MAX_BYTES } from '../../daemon-client/daemon-client.ts';
import { DaemonUnavailable, unavailableOf } from '../../daemon-client/daemon-unavailable.ts';
import { readJsonObject } from '../../daemon-client/json-answer.ts';
import { createForwardedExchange } from './forwarded-exchange.ts';
import { messageOf } from '../../../platform/errors.ts';

/** Maximum number of connections to the daemon, and so of answers in memory. */
const MAX_CONNECTIONS = 8;

/** One read to forward to the daemon. */
export interface ForwardedRead {
  readonly report: ReportName;
  /** Validated parameters only. */
  readonly query: URLSearchParams;
  readonly requestId: string;
  /** The `Via` header to send. */
  readonly via: string;
  /** The fields that carry the trace of the request. */
  readonly trace: Readonly<Record<string, string>>;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

/** Forwards admin reads to the daemon. */
export interface ReportForwarder {
  /** Total milliseconds for an answer. */
  readonly timeoutMs: number;
  /**
   * Asks the daemon for a report and reads the whole answer before any part of it is sent on.
   *
   * @returns the daemon's answer, with any status; an answer with status 200 holds one JSON object
   * @throws DaemonUnavailable, or the signal's reason
   */
  forward(read: ForwardedRead): Promise<BoundedAnswer>;
  /** Closes the connections; reads in progress fail. */
  close(): Promise<void>;
}

/** Settings and collaborators of a report forwarder. */
export interface ReportForwarderOptions {
  /** Origin of the daemon; the forwarder connects to no other. */
  readonly url: string;
  /** Unix socket to use instead of the URL's host. */
  readonly socketPath: string | undefined;
  /** Returns the token that the daemon requires, or `null`. */
  readonly readToken: () => Promise<string | null>;
  /** Total milliseconds for an answer. */
  readonly timeoutMs: number;
}

/** Makes the forwarder: one proxy with a fixed target and its own connections. */
export function createReportForwarder(options: ReportForwarderOptions): ReportForwarder {
  const { url, socketPath, timeoutMs } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS, maxFreeSockets: MAX_CONNECTIONS });
  const host = socketPath === undefined ? new URL(url).host : 'localhost';
  const send = createProxySender(options, agent);

  return {
    timeoutMs,
    forward: async ({ report, query, requestId, via, trace, signal }) => {
      const token = await options.readToken().catch((cause: unknown) => {
        throw new DaemonUnavailable('token_unreadable', 'the token file for the daemon cannot be read', {
          cause,
        });
      });
      const headers = {
        host,
        accept: JSON_MEDIA_TYPE,
        'accept-encoding': 'identity',
        'x-request-id': requestId,
        via,
        ...trace,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      };
      const search = query.toString();
      const path = `/v1/reports/${report}${search === '' ? '' : `?${search}`}`;
      const deadline = startDeadline(timeoutMs);
      const ended = AbortSignal.any([signal, deadline.signal]);
      try {
        const answer = await send(path, headers, ended);
        if (answer.status === 200) readJsonObject(answer);
        return answer;
      } catch (cause) {
        if (cause instanceof DaemonUnavailable) throw cause;
        if (cause instanceof HttpFailure) throw unavailableOf(cause);
        ended.throwIfAborted();
        const text = messageOf(cause);
        throw new DaemonUnavailable('unreachable', `the daemon cannot be reached: ${text}`, { cause });
      } finally {
        deadline.clear();
      }
    },
    close: async () => {
      agent.destroy();
    },
  };
}

/** The callbacks of one request. */
interface Pending {
  readonly onAnswer: (answer: IncomingMessage) => void;
  readonly onError: (error: Error) => void;
}

type ProxySender = (
  path: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<BoundedAnswer>;

/** Makes the function that sends one GET through the proxy and reads the whole answer. */
function createProxySender(
  { url, socketPath }: Pick<ReportForwarderOptions, 'url' | 'socketPath'>,
  agent: Agent,
): ProxySender {
  const pending = new WeakMap<IncomingMessage, Pending>();
  const proxy = createProxyMiddleware({
    target: socketPath === undefined ? url : { protocol: 'http:', host: 'localhost', port: 80, socketPath },
    agent,
    selfHandleResponse: true,
    // The default plugins log URLs and write their own error answers.
    ejectPlugins: true,
    plugins: [
      (server) => {
        // Without a listener Node closes the connection silently.
        server.on('proxyReq', (outgoing, request) => {
          outgoing.once('upgrade', ({ statusCode: status = 0 }, socket) => {
            socket.destroy();
            const message = 'the answer changes the protocol of the connection';
            pending.get(request)?.onError(new HttpFailure('answer_invalid', message, { status }));
          });
        });
        server.on('proxyRes', (answer, request) => pending.get(request)?.onAnswer(answer));
        server.on('error', (error, request) => {
          if (request !== undefined) pending.get(request)?.onError(error);
        });
        server.on('econnreset', (error, request) => pending.get(request)?.onError(error));
      },
    ],
  });

  return async (path, headers, signal) => {
    signal.throwIfAborted();
    const { request, response, release } = createForwardedExchange(path, headers);
    const { promise, resolve, reject } = Promise.withResolvers<BoundedAnswer>();
    const onAbort = (): void => {
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort);
    pending.set(request, {
      onAnswer: (answer) => {
        readAnswer(answer, REPORT_MAX_BYTES).then(resolve, reject);
      },
      onError: reject,
    });
    try {
      proxy(request, response).catch(reject);
      return await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      release();
    }
  };
}

/** A time limit. Unlike `AbortSignal.timeout`, it leaves no timer behind after `clear`. */
function startDeadline(timeoutMs: number): { readonly signal: AbortSignal; readonly clear: () => void } {
  const over = new AbortController();
  const timer = setTimeout(() => {
    over.abort(new DaemonUnavailable('timeout', `the daemon gave no complete answer within ${timeoutMs} ms`));
  }, timeoutMs);
  return {
    signal: over.signal,
    clear: () => {
      clearTimeout(timer);
    },
  };
}
