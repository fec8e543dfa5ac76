import { createServer, type Server } from 'node:http';
import { onTestFinished } from 'vitest';
import { Connections } from '../../src/platform/http/connections.ts';
import { listen, type Listening } from '../../src/platform/http/listen.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import { installFastPath, type FastPath } from '../../src/server/fast-path/fast-path.ts';
import { createCors } from '../../src/server/http/cors.ts';
import type { FinishedRequest } from '../../src/server/http/observe-request.ts';
import { splitTarget } from '../../src/server/http/request-target.ts';
import { CDN_HOST, type CdnFixture } from './cdn-fixture.ts';

/** A server over a byte path, with or without the fast path in front. */
export interface FrontedServer {
  readonly port: number;
  readonly server: Server;
  readonly connections: Connections;
  readonly listening: Listening;
  readonly fastPath: FastPath | null;
  /** The answers of the fast path, in order. */
  readonly fast: FinishedRequest[];
  /** How many requests reached the full server. */
  fullRequests(): number;
}

/** Starts a server over the byte path of a fixture. It stops with the running test. */
export async function startFronted(
  cdn: CdnFixture,
  options: {
    readonly fast: boolean;
    readonly headersTimeoutMs?: number;
    readonly keepAliveTimeoutMs?: number;
    /** Milliseconds that a connection must be idle before a closing server closes it. */
    readonly quietMs?: number;
  },
): Promise<FrontedServer> {
  let fullRequests = 0;
  const server = createServer(
    {
      headersTimeout: options.headersTimeoutMs ?? 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: options.keepAliveTimeoutMs ?? 65_000,
      keepAliveTimeoutBuffer: 0,
      connectionsCheckingInterval: 20,
    },
    (request, response) => {
      fullRequests += 1;
      const target = splitTarget(request.url ?? '');
      if (target?.path.startsWith(`/${CDN_HOST}/`) === true) {
        cdn.handler.handle(request, response, target.text);
        return;
      }
      response.writeHead(404, ['Content-Type', 'text/plain', 'Content-Length', '4']);
      response.end('none');
    },
  );
  const fast: FinishedRequest[] = [];
  const connections = new Connections({ quietMs: options.quietMs ?? 0 });
  const fastPath = options.fast
    ? installFastPath(server, {
        serving: cdn.serving,
        bytePath: cdn.handler.parts,
        clock: systemClock,
        record: (finished) => fast.push(finished),
        route: 'bytes',
        createRequestId: () => 'request-id-of-the-test',
        createSpanId: () => '00f067aa0ba902b8',
        connections,
        cors: createCors([]),
      })
    : null;
  const listening = await listen(server, { host: '127.0.0.1', port: 0 }, connections);
  onTestFinished(async () => {
    await listening.close(AbortSignal.abort());
  });
  return {
    port: listening.port ?? 0,
    server,
    connections,
    listening,
    fastPath,
    fast,
    fullRequests: () => fullRequests,
  };
}
