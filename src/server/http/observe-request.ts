import type { IncomingMessage, ServerResponse } from 'node:http';

import { currentTrace, withTrace } from '../../platform/logging/trace.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';

/** The requests to log at level info; all others are logged at level debug. */
type AccessLogMode = 'all' | 'control' | 'none';

/** A finished request, as the metrics count it. */
export interface RequestRecord {
  /** Route template, never the raw path. */
  readonly route: string;
  readonly method: string;
  /** `null` if the client left before any byte of the response was sent. */
  readonly status: number | null;
  readonly bytes: number;
  readonly seconds: number;
}

/** One request as the log sees it. */
export interface ObservedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly route: string;
  readonly requestId: string;
}

/** One request that has ended. */
export interface FinishedRequest {
  readonly method: string;
  readonly route: string;
  /** Of the response; it counts only if the client got some of it. */
  readonly status: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly completed: boolean;
  /** Called only when a line is written. */
  readonly requestId: () => string;
}

/** Makes the function that counts a request that has ended and writes its line. */
export function createRequestRecorder(options: {
  readonly logger: Logger;
  readonly metrics: { request(record: RequestRecord): void };
  readonly access: AccessLogMode;
  /** Routes that are not `control`: resource bytes and probes. */
  readonly busyRoutes: ReadonlySet<string>;
}): (finished: FinishedRequest) => void {
  const { logger, metrics, access, busyRoutes } = options;
  return (finished) => {
    const { method, route, bytes, seconds, completed } = finished;
    // Without a byte sent there is no response: its planned status would look like a success.
    const status = completed || bytes > 0 ? finished.status : null;
    metrics.request({ method, route, status, bytes, seconds });
    const level = access === 'all' || (access === 'control' && !busyRoutes.has(route)) ? 'info' : 'debug';
    if (!logger.isLevelEnabled(level)) return;
    logger[level](
      {
        method,
        route,
        status,
        bytes,
        duration_ms: Math.round(seconds * 1e6) / 1e3,
        request_id: finished.requestId(),
        outcome: completed ? 'completed' : 'aborted',
      },
      'request',
    );
  };
}

/** Makes the function that hands a request to the recorder when it has ended, however it ends. */
export function createRequestObserver(
  record: (finished: FinishedRequest) => void,
  clock: Clock,
): (observed: ObservedRequest) => void {
  return ({ request, response, route, requestId }) => {
    const begun = clock.monotonic();
    const { socket } = request;
    const sentBefore = socket.bytesWritten;
    const trace = currentTrace();
    response.once('close', () => {
      const finished: FinishedRequest = {
        method: request.method ?? '',
        route,
        status: response.statusCode,
        bytes: socket.bytesWritten - sentBefore,
        seconds: (clock.monotonic() - begun) / 1000,
        completed: response.writableFinished,
        requestId: () => requestId,
      };
      // The event comes from the socket, outside of the work for the request.
      if (trace === null) record(finished);
      else withTrace(trace, () => record(finished));
    });
  };
}
