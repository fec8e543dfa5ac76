import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../platform/process/clock.ts';
import { requestId } from '../../platform/process/ids.ts';
import type { CdnParts } from '../bytes/cdn-handler.ts';
import { FastConnection } from './fast-connection.ts';
import type { FinishedExchange } from './fast-responder.ts';
import type { FinishedRequest } from '../http/observe-request.ts';
import type { Serving } from '../serving/serving.ts';
import type { FastRoutes } from './fast-routes.ts';
import { createPreparedAnswers } from './prepared-answers.ts';
import { createResponseHeads } from './response-heads.ts';

/** What {@link installFastPath} needs. */
export interface FastPathDeps {
  readonly serving: Serving;
  readonly cdn: CdnParts;
  readonly clock: Clock;
  /** What is answered beside resource bytes. */
  readonly routes: FastRoutes;
  /** Counts a request and writes its line. */
  readonly record: (finished: FinishedRequest) => void;
  /** The route label of resource bytes. */
  readonly route: string;
  readonly createRequestId: () => string;
}

/** The fast path of one server. */
export interface FastPath {
  /** Ends idle connections, and each other one after its answer; what comes from now on goes to the full server. */
  drain(): void;
  /** Cuts every connection that the fast path still has. */
  cut(): void;
  /** Connections that the fast path has now. */
  readonly connections: number;
}

/**
 * Puts the fast path in front of a server: it sees the first bytes of every connection, answers plain requests for
 * verified bytes and for a few routes itself, and hands the connection over for good at the first request that is anything else.
 *
 * @param server not listening yet, its timeouts set; every connection still counts as one of its own
 */
export function installFastPath(server: Server, deps: FastPathDeps): FastPath {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  const connections = new Set<FastConnection>();
  let draining = false;
  const handOver = (socket: Socket): void => {
    for (const listener of listeners) Reflect.apply(listener, server, [socket]);
  };
  const heads = createResponseHeads({ clock: deps.clock, keepAliveTimeoutMs: server.keepAliveTimeout });
  const recordBytes = (finished: FinishedExchange): void => {
    // Member by member: rest and spread take a microsecond, and this is a path of some fifteen.
    deps.record({
      method: finished.method,
      status: finished.status,
      bytes: finished.bytes,
      seconds: finished.seconds,
      completed: finished.completed,
      route: deps.route,
      requestId: () => requestId(finished.requestId, deps.createRequestId),
    });
  };
  const shared = {
    answers: createPreparedAnswers({ ...deps, heads }),
    heads,
    routes: deps.routes,
    requestId: (received: string | undefined) => requestId(received, deps.createRequestId),
    cdn: deps.cdn,
    clock: deps.clock,
    serving: deps.serving,
    headersTimeoutMs: server.headersTimeout,
    idleTimeoutMs: server.keepAliveTimeout + server.keepAliveTimeoutBuffer,
    isDraining: () => draining,
    record: deps.record,
    recordBytes,
    onLeave: (connection: FastConnection, socket: Socket | null) => {
      connections.delete(connection);
      if (socket !== null) handOver(socket);
    },
  };
  server.on('connection', (socket: Socket) => {
    if (draining) handOver(socket);
    else connections.add(new FastConnection(socket, shared));
  });
  return {
    drain: () => {
      draining = true;
      for (const connection of connections) connection.drain();
    },
    cut: () => {
      for (const connection of connections) connection.cut();
    },
    get connections() {
      return connections.size;
    },
  };
}
