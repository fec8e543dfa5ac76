import { createServer, type Server } from 'node:http';

import { listen, type Listening } from '../platform/http/listen.ts';
import type { AssembledServer } from './assemble-server.ts';
import type { ServerConfiguration } from './config/config.ts';
import type { FastPath } from './fast-path/fast-path.ts';

/** The public port of a server. */
export interface PublicListening extends Listening {
  /** `null` where the fast path is switched off. */
  readonly fastPath: FastPath | null;
}

/**
 * Listens on the public port, with the fast path in front of the full HTTP server unless it is switched off.
 *
 * @param processes number of processes that share the port; `null` for a single process
 * @throws ListenError
 */
export async function listenPublic(
  config: Pick<ServerConfiguration, 'listen' | 'limits'>,
  { listener, installFastPath }: Pick<AssembledServer, 'listener' | 'installFastPath'>,
  processes: number | null = null,
): Promise<PublicListening> {
  const { limits } = config;
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
  server.maxConnections = Math.ceil(limits.maxConnections / (processes ?? 1));
  // Otherwise full processes would pass a connection around forever. Node's types do not have the option yet.
  if (processes !== null) Object.assign(server, { dropMaxConnection: true });
  const fastPath = installFastPath(server);
  const listening = await listen(server, config.listen);
  return {
    url: listening.url,
    port: listening.port,
    fastPath,
    close: async (signal) => {
      const cut = (): void => fastPath?.cut();
      if (signal?.aborted === true) cut();
      else signal?.addEventListener('abort', cut, { once: true });
      const closed = listening.close(signal);
      fastPath?.drain();
      await closed;
      signal?.removeEventListener('abort', cut);
    },
  };
}
