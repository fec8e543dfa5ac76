import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen } from '../../../../src/platform/http/listen.ts';
import { HttpConnection } from '../../../support/http-connection.ts';
import { until } from '../../../support/until.ts';

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const LAST_REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
const GARBAGE = 'GARBAGE\r\n\r\n';

/** A server whose answers the test sets. */
async function start(headersTimeout = 50): Promise<{
  readonly port: number;
  /** Bytes that the server has read from all connections. */
  readonly bytesRead: () => number;
  readonly nextResponse: () => Promise<ServerResponse>;
  readonly connections: () => Promise<number>;
}> {
  const responses: ServerResponse[] = [];
  const listener: RequestListener = (_request, response) => {
    responses.push(response);
  };
  const server = createServer({ headersTimeout, connectionsCheckingInterval: 10 }, listener);
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => sockets.push(socket));
  const listening = await listen(server, { host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    await listening.close(AbortSignal.abort());
  });
  return {
    port: listening.port ?? 0,
    bytesRead: () => sockets.reduce((sum, socket) => sum + socket.bytesRead, 0),
    nextResponse: async () => await until(() => responses.shift()),
    connections: async () =>
      await new Promise((resolve, reject) => {
        server.getConnections((error, count) => {
          if (error === null) resolve(count);
          else reject(error);
        });
      }),
  };
}

describe('an invalid request', () => {
  it.each([
    ['garbage', GARBAGE, 400, 'invalid_request'],
    ['a head that is too large', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}`, 431, 'headers_too_large'],
    ['a target that is too long', `GET /${'x'.repeat(20_000)}`, 414, 'uri_too_long'],
    ['a head that does not end', 'GET / HTTP/1.1\r\nHost: x\r\n', 408, 'request_timeout'],
    ['a tunnel', 'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n', 405, 'method_not_allowed'],
  ])('is refused with a problem and a date: %s', async (_name, bytes, status, code) => {
    const { port } = await start();
    const connection = await HttpConnection.open(port);
    connection.send(bytes);
    const answer = await connection.answer();
    expect([answer.status, answer.headers['connection']]).toEqual([status, 'close']);
    expect(Date.parse(answer.headers['date'] ?? '')).not.toBeNaN();
    expect(JSON.parse(answer.body.toString())).toMatchObject({ code, status });
    expect((await connection.closed()).rest.length).toBe(0);
  });

  it('is refused for its header fields also when one of them arrives in parts', async () => {
    const { port, bytesRead } = await start(60_000);
    const connection = await HttpConnection.open(port);
    const begin = `GET / HTTP/1.1\r\nHost: x\r\nCookie: ${'x'.repeat(8000)}`;
    connection.send(begin);
    await until(() => bytesRead() === begin.length);
    connection.send('x'.repeat(20_000));
    const answer = await connection.answer();
    expect([answer.status, JSON.parse(answer.body.toString())]).toEqual([
      431,
      expect.objectContaining({ code: 'headers_too_large' }),
    ]);
  });

  it('adds nothing to an answer that has begun: the connection is cut', async () => {
    const { port, nextResponse } = await start();
    const connection = await HttpConnection.open(port);
    connection.send(REQUEST);
    const response = await nextResponse();
    response.writeHead(200, { 'content-length': 10 });
    response.write('01234');
    await once(connection.socket, 'data');
    connection.send(GARBAGE);
    const answer = await connection.answer();
    expect([answer.wasCut, answer.body.toString()]).toEqual([true, '01234']);
  });

  it('is ignored after a last request, whose answer is complete', async () => {
    const { port, nextResponse } = await start();
    const connection = await HttpConnection.open(port);
    connection.send(LAST_REQUEST + GARBAGE);
    const response = await nextResponse();
    connection.send(GARBAGE);
    response.writeHead(200, { 'content-length': 10 });
    response.write('01234');
    await once(connection.socket, 'data');
    connection.send(GARBAGE);
    response.end('56789');
    expect((await connection.answer()).body.toString()).toBe('0123456789');
    expect((await connection.closed()).rest.length).toBe(0);
  });

  it('is disconnected, even when its client stays', async () => {
    const { port, connections } = await start();
    const connection = await HttpConnection.open(port);
    connection.socket.allowHalfOpen = true;
    connection.send(GARBAGE);
    expect((await connection.answer()).status).toBe(400);
    await until(async () => (await connections()) === 0);
    connection.destroy();
  });
});
