import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AtEnd } from './shared-fixture.ts';

/** A request that reached the proxy. */
export interface SeenRequest {
  readonly path: string;
  readonly range: string | null;
  /** When it arrived, milliseconds of `performance.now`. It is listed when it is answered. */
  readonly arrivedAt: number;
  status: number;
  /** Bytes of the body that were sent. */
  bytes: number;
}

/** An answer that a test changes. */
export interface ChangedAnswer {
  readonly path: string;
  status: number;
  body: Buffer;
  /** Destroys the connection after this many bytes of the body. */
  cutAfter: number | null;
}

/** A proxy between an origin and its edges, which counts and changes what passes. */
export interface OriginProxy {
  readonly url: string;
  readonly seen: SeenRequest[];
  /** Changes answers on their way; `null` passes all of them on. */
  change: ((answer: ChangedAnswer) => void) | null;
  /** While set, each connection is destroyed immediately. */
  isDown: boolean;
}

/** Starts a proxy in front of an origin. */
export async function startOriginProxy(originUrl: string, atEnd: AtEnd): Promise<OriginProxy> {
  const proxy: { -readonly [K in keyof OriginProxy]: OriginProxy[K] } = {
    url: '',
    seen: [],
    change: null,
    isDown: false,
  };
  const server = createServer((request, response) => {
    pass(originUrl, proxy, request, response).catch(() => {
      response.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return proxy;
}

async function pass(
  originUrl: string,
  proxy: OriginProxy,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (proxy.isDown) {
    response.destroy();
    return;
  }
  const arrivedAt = performance.now();
  const path = request.url ?? '';
  const { host: _host, connection: _connection, 'accept-encoding': coding, ...kept } = request.headers;
  // A test changes texts, not compressed ones.
  const headers = proxy.change === null ? { ...kept, 'accept-encoding': coding } : kept;
  const forwarded = httpRequest(`${originUrl}${path}`, { method: request.method, headers, agent: false });
  forwarded.end();
  const [answer] = (await once(forwarded, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece as Buffer);
  const changed: ChangedAnswer = {
    path,
    status: answer.statusCode ?? 502,
    body: Buffer.concat(pieces),
    cutAfter: null,
  };
  proxy.change?.(changed);
  const { 'content-length': _length, connection: _closed, ...rest } = answer.headers;
  const length = changed.status === 304 ? {} : { 'content-length': String(changed.body.length) };
  response.writeHead(changed.status, { ...rest, ...length });
  const body = changed.body.subarray(0, changed.cutAfter ?? changed.body.length);
  proxy.seen.push({
    path,
    arrivedAt,
    range: request.headers.range ?? null,
    status: changed.status,
    bytes: body.length,
  });
  if (changed.cutAfter === null) {
    response.end(body);
    return;
  }
  response.write(body, () => {
    response.destroy();
  });
}
