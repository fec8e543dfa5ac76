import { Agent, type IncomingMessage } from 'node:http';

import { createProxyMiddleware } from 'http-proxy-middleware';

import type { ReportName } from '../../../contract/reports/reports.ts';
import { readAnswer, type BoundedAnswer } from '../../daemon-client/bounded-answer.ts';
import { REPORT_MAX_BYTES } from '../../daemon-client/daemon-client.ts';
import { DaemonUnavailable } from '../../daemon-client/daemon-unavailable.ts';
import { readJsonObject } from '../../daemon-client/json-answer.ts';
import { createForwardedExchange } from './forwarded-exchange.ts';

/** Connections to the daemon, and with them answers in memory, at once. */
const MAX_CONNECTIONS = 8;
/** Idle connections that are kept: all, since opening one costs more than an answer. */
const MAX_IDLE = MAX_CONNECTIONS;
/** Largest body that is remembered, and so the memory that a report can take. */
const MAX_REMEMBERED_BYTES = 256 * 1024;

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
   * @returns what the daemon answered, of any status; one of 200 holds one JSON object
   * @throws DaemonUnavailable, or the signal's reason
   */
  forward(read: ForwardedRead): Promise<BoundedAnswer>;
  /** Closes the connections; reads under way fail. */
  close(): Promise<void>;
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
  const check = createReportCheck();
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
    // A timer that is cleared, not a signal with a time-out: that would hold on to every answer until its time is up.
    const deadline = startDeadline(timeoutMs);
    const token = await options.readToken().catch((cause: unknown) => {
      deadline.clear();
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
    let onGone = (): void => undefined;
    try {
      return await new Promise<BoundedAnswer>((resolve, reject) => {
        const fail = (cause: unknown): void => {
          reject(failureOf(cause, { signal, isLate: deadline.isOver(), timeoutMs }));
        };
        onGone = () => {
          fail(signal.reason);
        };
        if (signal.aborted) onGone();
        signal.addEventListener('abort', onGone);
        deadline.onOver(() => {
          fail(new Error('the deadline is over'));
        });
        pending.set(request, {
          onAnswer: (answer) => {
            readAnswer(answer, REPORT_MAX_BYTES)
              .then((whole) => {
                resolve(check(report, whole));
              })
              .catch(fail);
          },
          onError: fail,
        });
        proxy(request, response).catch(fail);
      });
    } finally {
      deadline.clear();
      signal.removeEventListener('abort', onGone);
      release();
    }
  };

  return {
    forward: exchange,
    close: async () => {
      agent.destroy();
    },
  };
}

/** Makes the function that lets through what can be passed on, and throws DaemonUnavailable for what cannot. */
function createReportCheck(): (report: ReportName, answer: BoundedAnswer) => BoundedAnswer {
  // Reading a report costs more than all the rest. Where many ask often the daemon's answers repeat, and bytes that were
  // found good are good.
  const lastGood = new Map<ReportName, BoundedAnswer>();
  return (report, answer) => {
    if (answer.status !== 200 || isSameAnswer(lastGood.get(report), answer)) return answer;
    readJsonObject(answer);
    if (answer.body.length <= MAX_REMEMBERED_BYTES) lastGood.set(report, answer);
    return answer;
  };
}

function isSameAnswer(known: BoundedAnswer | undefined, { contentType, body }: BoundedAnswer): boolean {
  return known?.contentType === contentType && known.body.equals(body);
}

/** A time limit that leaves nothing behind once it is cleared. */
function startDeadline(timeoutMs: number): {
  readonly isOver: () => boolean;
  readonly onOver: (listener: () => void) => void;
  readonly clear: () => void;
} {
  let isOver = false;
  let tell = (): void => undefined;
  const timer = setTimeout(() => {
    isOver = true;
    tell();
  }, timeoutMs);
  return {
    isOver: () => isOver,
    onOver: (listener) => {
      tell = listener;
      if (isOver) listener();
    },
    clear: () => {
      clearTimeout(timer);
    },
  };
}

/** What an exchange failed of, whichever event told of it first. */
function failureOf(
  cause: unknown,
  {
    signal,
    isLate,
    timeoutMs,
  }: { readonly signal: AbortSignal; readonly isLate: boolean; readonly timeoutMs: number },
): unknown {
  if (cause instanceof DaemonUnavailable) return cause;
  if (signal.aborted) return signal.reason;
  if (isLate) {
    return new DaemonUnavailable('timeout', `the daemon gave no complete answer within ${timeoutMs} ms`, {
      cause,
    });
  }
  const text = cause instanceof Error ? cause.message : String(cause);
  return new DaemonUnavailable('unreachable', `the daemon cannot be reached: ${text}`, { cause });
}
