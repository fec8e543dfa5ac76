import { Agent, type IncomingMessage } from 'node:http';

import { createProxyMiddleware } from 'http-proxy-middleware';

import type { ReportName } from '../../contract/reports.ts';
import { readAnswer, type BoundedAnswer } from '../daemon-client/bounded-answer.ts';
import { REPORT_MAX_BYTES } from '../daemon-client/daemon-client.ts';
import { DaemonUnavailable } from '../daemon-client/daemon-unavailable.ts';
import { createForwardedExchange } from './forwarded-exchange.ts';

/** Connections to the daemon, and with them answers in memory, at once. */
const MAX_CONNECTIONS = 8;
/** Reads that may be under way or wait for a connection. */
const MAX_IN_FLIGHT = 64;
/** Idle connections that are kept. */
const MAX_IDLE = 2;

/** One read on its way to the daemon. */
export interface ForwardedRead {
  readonly report: ReportName;
  /** Validated parameters only. */
  readonly query: URLSearchParams;
  readonly requestId: string;
  /** The `Via` header to send. */
  readonly via: string;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

/** Forwards admin reads to the daemon. */
export interface ReportForwarder {
  /**
   * Asks the daemon for a report and reads the whole answer before anything of it is sent on.
   *
   * @returns whatever the daemon answered, of any status
   * @throws DaemonUnavailable, or the signal's reason
   */
  forward(read: ForwardedRead): Promise<BoundedAnswer>;
  /** Closes the connections; reads under way fail. */
  close(): void;
}

/** What {@link createReportForwarder} needs. */
export interface ReportForwarderOptions {
  /** Origin of the daemon; the only one that is ever connected to. */
  readonly url: string;
  /** Unix socket to use instead of the URL's host. */
  readonly socketPath: string | undefined;
  /** Returns the token that the daemon asks for, or `null`. */
  readonly readToken: () => Promise<string | null>;
  /** Total milliseconds for an answer. */
  readonly timeoutMs: number;
}

/** Who waits for the answer to a request. */
interface Pending {
  readonly onAnswer: (answer: IncomingMessage) => void;
  readonly onError: (error: Error) => void;
}

/** Makes the forwarder: one proxy with a fixed target and connections of its own. */
export function createReportForwarder(options: ReportForwarderOptions): ReportForwarder {
  const { url, socketPath, timeoutMs } = options;
  const { host } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS, maxFreeSockets: MAX_IDLE });
  const pending = new WeakMap<IncomingMessage, Pending>();
  let inFlight = 0;
  const proxy = createProxyMiddleware({
    target: socketPath === undefined ? url : { protocol: 'http:', host: 'localhost', port: 80, socketPath },
    agent,
    selfHandleResponse: true,
    // The default plugins log URLs and answer errors in words of their own.
    ejectPlugins: true,
    plugins: [
      (server) => {
        server.on('proxyRes', (answer, request) => pending.get(request)?.onAnswer(answer));
        server.on('error', (error, request) => {
          if (request !== undefined) pending.get(request)?.onError(error);
        });
        server.on('econnreset', (error, request) => pending.get(request)?.onError(error));
      },
    ],
  });

  const exchange = async (read: ForwardedRead): Promise<BoundedAnswer> => {
    const { report, query, requestId, via, signal } = read;
    const deadline = AbortSignal.timeout(timeoutMs);
    const token = await options.readToken().catch((cause: unknown) => {
      throw new DaemonUnavailable('token_unreadable', 'the token file for the daemon cannot be read', {
        cause,
      });
    });
    const search = query.toString();
    const { request, response, release } = createForwardedExchange(
      `/v1/reports/${report}${search === '' ? '' : `?${search}`}`,
      {
        host: socketPath === undefined ? host : 'localhost',
        accept: 'application/json',
        'accept-encoding': 'identity',
        'x-request-id': requestId,
        via,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
    );
    const ended = AbortSignal.any([signal, deadline]);
    try {
      return await new Promise<BoundedAnswer>((resolve, reject) => {
        const fail = (cause: unknown): void => {
          reject(failureOf(cause, { signal, deadline, timeoutMs }));
        };
        if (ended.aborted) fail(ended.reason);
        ended.addEventListener('abort', () => {
          fail(ended.reason);
        });
        pending.set(request, {
          onAnswer: (answer) => {
            readAnswer(answer, REPORT_MAX_BYTES).then(resolve, fail);
          },
          onError: fail,
        });
        proxy(request, response).catch(fail);
      });
    } finally {
      release();
    }
  };

  return {
    forward: async (read) => {
      if (inFlight >= MAX_IN_FLIGHT) {
        throw new DaemonUnavailable('unreachable', `${MAX_IN_FLIGHT} reads wait for the daemon already`);
      }
      inFlight += 1;
      try {
        return await exchange(read);
      } finally {
        inFlight -= 1;
      }
    },
    close: () => {
      agent.destroy();
    },
  };
}

/** What an exchange failed of, whichever event told of it first. */
function failureOf(
  cause: unknown,
  {
    signal,
    deadline,
    timeoutMs,
  }: { readonly signal: AbortSignal; readonly deadline: AbortSignal; readonly timeoutMs: number },
): unknown {
  if (cause instanceof DaemonUnavailable) return cause;
  if (signal.aborted) return signal.reason;
  if (deadline.aborted) {
    return new DaemonUnavailable('timeout', `the daemon gave no complete answer within ${timeoutMs} ms`, {
      cause,
    });
  }
  const text = cause instanceof Error ? cause.message : String(cause);
  return new DaemonUnavailable('unreachable', `the daemon cannot be reached: ${text}`, { cause });
}
