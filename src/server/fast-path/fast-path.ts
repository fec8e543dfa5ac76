import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Connections } from '../../platform/http/connections.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { receiveTrace, withTrace } from '../../platform/logging/trace.ts';
import { requestId } from '../../platform/process/ids.ts';
import type { BytePathParts } from '../bytes/byte-path-parts.ts';
import type { Cors } from '../http/cors.ts';
import type { FinishedRequest } from '../http/observe-request.ts';
import type { Serving } from '../serving/serving.ts';
import { FastAnswers } from './fast-answers.ts';
import { FastConnection, type FastConnectionOptions } from './fast-connection.ts';

/** The fast path of one server. */
export interface FastPath {
  /** Number of connections that the fast path holds now. */
  readonly connections: number;
}

/**
 * Puts the fast path in front of a server (ADR 7). It reads the first bytes of every connection, answers plain GET and
 * HEAD requests for verified bytes, and hands the connection to the server for good at the first other request. While the
 * server retires, every request goes to the server.
 *
 * @param server not listening yet, with its timeouts set
 */
export function installFastPath(
  server: Server,
  options: {
    readonly serving: Serving;
    readonly bytePath: BytePathParts;
    readonly clock: Clock;
    /** Counts a request and logs it. */
    readonly record: (finished: FinishedRequest) => void;
    /** The route label of resource bytes. */
    readonly route: string;
    readonly createRequestId: () => string;
    readonly createSpanId: () => string;
    /** The connections of the server, which admit each one before the fast path gets it. */
    readonly connections: Connections;
    readonly cors: Cors;
  },
): FastPath {
  const { bytePath, clock, record, route, createRequestId, createSpanId, connections } = options;
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  const handOver = (socket: Socket): void => {
    for (const listener of listeners) Reflect.apply(listener, server, [socket]);
  };
  const held = new Set<FastConnection>();
  const shared: FastConnectionOptions = {
    answers: new FastAnswers({ ...options, keepAliveTimeoutMs: server.keepAliveTimeout }),
    bytePath,
    clock,
    headersTimeoutMs: server.headersTimeout,
    idleTimeoutMs: server.keepAliveTimeout + server.keepAliveTimeoutBuffer,
    connections,
    record: ({ head, status, begun }, { bytes, completed }) => {
      const finished: FinishedRequest = {
        method: head.method,
        status,
        bytes,
        seconds: (clock.monotonic() - begun) / 1000,
        completed,
        route,
        requestId: () => requestId(head.requestId, createRequestId),
      };
      const trace = receiveTrace(head, createSpanId);
      if (trace === null) record(finished);
      else withTrace(trace, () => record(finished));
    },
    onLeave: (connection, socket) => {
      held.delete(connection);
      if (socket !== null) handOver(socket);
    },
  };
  server.on('connection', (socket: Socket) => {
    const connection = connections.of(socket);
    if (connection === undefined || connections.retired) handOver(socket);
    else held.add(new FastConnection(connection, shared));
  });
  return {
    get connections() {
      return held.size;
    },
  };
}
