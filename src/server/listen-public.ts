import { createServer, type Server } from 'node:http';

import { isListenerCheck } from '../platform/http/listener-check.ts';
import { Connections } from '../platform/http/connections.ts';
import { listen, type Listening } from '../platform/http/listen.ts';
import type { AssembledServer } from './assemble-server.ts';
import type { ServerConfiguration } from './config/config.ts';
import type { FastPath } from './fast-path/fast-path.ts';

/** The public port of a server. */
export interface PublicListening extends Listening {
  readonly connections: Connections;
  /** `null` where the fast path is switched off. */
  readonly fastPath: FastPath | null;
}

/** Longest time that a closing server waits for the next request of a client that has just read a response. */
const MAX_QUIET_MS = 1_000;

/**
 * Listens on the public port, with the fast path in front of the full HTTP server unless it is switched off.
 *
 * @param processes number of processes that share the port
 * @throws ListenError
 */
export async function listenPublic(
  config: ServerConfiguration,
  { listener, installFastPath }: AssembledServer,
  processes = 1,
): Promise<PublicListening> {
  const { limits, shutdown } = config;
  const server: Server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: Math.max(limits.requestTimeoutMs, limits.headersTimeoutMs),
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      maxHeaderSize: limits.maxHeaderBytes,
      connectionsCheckingInterval: 1_000,
      // The listener itself refuses a request without Host, with a problem body.
      requireHostHeader: false,
    },
    listener,
  );
  const connections = new Connections({
    limits: {
      connections: Math.ceil(limits.maxConnections / processes),
      connectionsPerAddress: limits.maxConnectionsPerAddress,
      trustedProxies: limits.trustedProxies,
    },
    isCheck: isListenerCheck,
    quietMs: Math.min(MAX_QUIET_MS, shutdown.propagationDelaySeconds * 1000),
  });
  const fastPath = installFastPath(server, connections);
  return { ...(await listen(server, config.listen, connections)), connections, fastPath };
}
