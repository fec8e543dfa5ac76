import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logging.ts';
import type { ServerMetrics } from '../metrics.ts';

/** Which requests leave a line at level info; the others leave one at debug. */
export type AccessLogMode = 'all' | 'control' | 'none';

/** What {@link createRequestObserver} needs. */
export interface RequestObserverOptions {
  readonly logger: Logger;
  readonly metrics: Pick<ServerMetrics, 'request'>;
  readonly clock: Clock;
  readonly access: AccessLogMode;
  /** Routes that are not `control`: resource bytes and probes. */
  readonly busyRoutes: ReadonlySet<string>;
}

/** One request as the log sees it. */
export interface ObservedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly route: string;
  readonly requestId: string;
}

/** Makes the function that counts a request and writes its line when it has ended, however it ends. */
export function createRequestObserver(options: RequestObserverOptions): (observed: ObservedRequest) => void {
  const { logger, metrics, clock, access, busyRoutes } = options;
  return ({ request, response, route, requestId }) => {
    const begun = clock.monotonic();
    const { socket } = request;
    const sentBefore = socket.bytesWritten;
    response.once('close', () => {
      const seconds = (clock.monotonic() - begun) / 1000;
      const bytes = socket.bytesWritten - sentBefore;
      const method = request.method ?? '';
      metrics.request({ route, method, status: response.statusCode, bytes, seconds });
      const level = access === 'all' || (access === 'control' && !busyRoutes.has(route)) ? 'info' : 'debug';
      if (!logger.isLevelEnabled(level)) return;
      logger[level](
        {
          method,
          route,
          status: response.statusCode,
          bytes,
          duration_ms: Math.round(seconds * 1e6) / 1e3,
          request_id: requestId,
          outcome: response.writableFinished ? 'completed' : 'aborted',
        },
        'request',
      );
    });
  };
}
