import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Connections } from '../../../../src/platform/http/connections.ts';
import {
  CHECK_ADDRESS,
  createListenerCheck,
  isListenerCheck,
  ListenerCheckError,
} from '../../../../src/platform/http/listener-check.ts';

async function start(server: Server, host = '127.0.0.1'): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.listen(0, host);
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const LIMITS = { deadlineMs: 100, reuseMs: 60_000 };

describe('a check of the own listener', () => {
  it.each(['127.0.0.1', '0.0.0.0', '::', '::1'])('passes on the answer of a listener on %s', async (host) => {
    const url = await start(
      createServer((request, response) => {
        response.writeHead(503, { 'content-type': 'text/x-test' });
        response.end(`${request.url} from ${request.socket.remoteAddress}`);
      }),
      host,
    );
    const check = createListenerCheck({ url: () => url, ...LIMITS, deadlineMs: 5_000 });
    const { status, contentType, body } = await check('/readyz');
    expect([status, contentType]).toEqual([503, 'text/x-test']);
    expect(body).toMatch(/^\/readyz from /);
    if (CHECK_ADDRESS !== null && host !== '::1') expect(body).toContain(CHECK_ADDRESS);
  });

  it.each(['127.0.0.1', '0.0.0.0', '::', '::1'])(
    'needs no place among the connections of a listener on %s, but every other client does',
    async (host) => {
      const limits = { connections: 0, connectionsPerAddress: 1, trustedProxies: [] };
      const connections = new Connections({ limits, isCheck: isListenerCheck });
      const server = createServer((_request, response) => {
        response.end('yes');
      });
      server.prependListener('connection', (socket: Socket) => connections.admit(socket));
      const url = await start(server, host);
      const check = createListenerCheck({ url: () => url, reuseMs: 0, deadlineMs: 5_000 });
      for (let round = 0; round < 20; round += 1) expect((await check('/healthz')).body).toBe('yes');
      const client = url.replace('0.0.0.0', '127.0.0.1').replace('[::]', '[::1]');
      await expect(fetch(client)).rejects.toThrow('fetch failed');
      expect(connections.limited.full).toBe(1);
    },
  );

  it.each<[string, () => Promise<string | null>]>([
    ['has not begun to listen', async () => null],
    [
      'is closed',
      async () => {
        const server = createTcpServer();
        const url = await start(server);
        server.close();
        return url;
      },
    ],
    ['accepts and does not answer', async () => await start(createTcpServer())],
    ['closes the connection', async () => await start(createTcpServer((socket) => socket.destroy()))],
    [
      'answers without end',
      async () =>
        await start(
          createServer((_request, response) => {
            response.write(Buffer.alloc(100_000));
          }),
        ),
    ],
  ])('fails for a listener that %s', async (_name, startListener) => {
    const url = await startListener();
    const check = createListenerCheck({ url: () => url, ...LIMITS });
    await expect(check('/healthz')).rejects.toThrow(ListenerCheckError);
  });

  it('asks once for many checks of a path', async () => {
    let requests = 0;
    const url = await start(
      createServer((_request, response) => {
        requests += 1;
        response.end('yes');
      }),
    );
    const check = createListenerCheck({ url: () => url, ...LIMITS, deadlineMs: 5_000 });
    await Promise.all(Array.from({ length: 20 }, async () => await check('/a')));
    await check('/a');
    expect(requests).toBe(1);
    await check('/b');
    expect(requests).toBe(2);
  });
});
