import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rename, stat, writeFile } from 'node:fs/promises';
import {
  Agent,
  createServer,
  get,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { clientKey } from '../../../src/platform/http/connection-limits.ts';
import { Connections } from '../../../src/platform/http/connections.ts';
import { createFailedLoginDelay } from '../../../src/platform/http/failed-login-delay.ts';
import { listen, ListenError, type ListenAddress } from '../../../src/platform/http/listen.ts';
import {
  CHECK_ADDRESS,
  createListenerCheck,
  isListenerCheck,
  ListenerCheckError,
} from '../../../src/platform/http/listener-check.ts';
import {
  bytesOfIPv6,
  createNetworkMatcher,
  parseNetwork,
  plainAddress,
} from '../../../src/platform/http/networks.ts';
import { HttpConnection } from '../../support/http-connection.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const HAS_IPV6 = Object.values(networkInterfaces()).some((list = []) =>
  list.some(({ address }) => address === '::1'),
);
const LOOPBACK = { host: '127.0.0.1', port: 0 };

async function fetchWith(agent: Agent, options: object): Promise<IncomingMessage> {
  const [response] = (await once(get({ agent, ...options }), 'response')) as [IncomingMessage];
  return response;
}

describe('a listener', () => {
  async function start(
    handler: (request: IncomingMessage, response: ServerResponse) => void,
    address: ListenAddress = LOOPBACK,
  ) {
    const server = createServer(handler);
    const listening = await listen(server, address);
    onTestFinished(async () => {
      await listening.close(AbortSignal.abort());
    });
    return { server, ...listening };
  }

  describe('listen', () => {
    it('uses a free port and returns it', async () => {
      const { url, port } = await start((_request, response) => response.end('hello'));
      expect(url).toBe(`http://127.0.0.1:${port}`);
      expect(await (await fetch(url)).text()).toBe('hello');
    });

    it.skipIf(!HAS_IPV6)('writes IPv6 addresses in brackets', async () => {
      const { url } = await start((_request, response) => response.end('six'), { host: '::1', port: 0 });
      expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    });

    it('listens on a Unix socket that only owner and group can use', async () => {
      const socketPath = join(await temporaryDirectory(), 'daemon.sock');
      const { url, port } = await start((_request, response) => response.end('local'), { socketPath });
      expect([url, port]).toEqual([`unix:${socketPath}`, null]);
      expect((await stat(socketPath)).mode & 0o777).toBe(0o660);
      expect(await text(await fetchWith(new Agent(), { socketPath }))).toBe('local');
    });

    it('replaces the socket of a dead process, and keeps one that answers', async () => {
      const socketPath = join(await temporaryDirectory(), 'daemon.sock');
      const dead = createTcpServer();
      dead.listen(socketPath);
      await once(dead, 'listening');
      await expect(listen(createServer(), { socketPath })).rejects.toThrow(/another process already uses it/);
      expect(existsSync(socketPath)).toBe(true);
      // Keeps the file, as a killed process does: closing would unlink it.
      await rename(socketPath, `${socketPath}.kept`);
      dead.close();
      await once(dead, 'close');
      await rename(`${socketPath}.kept`, socketPath);
      await start((_request, response) => response.end(), { socketPath });
    });

    it('never removes a file that is not a socket', async () => {
      const socketPath = join(await temporaryDirectory(), 'precious.db');
      await writeFile(socketPath, 'data');
      await expect(listen(createServer(), { socketPath })).rejects.toThrow(ListenError);
      expect(existsSync(socketPath)).toBe(true);
    });

    it.each<[string, (port: number) => ListenAddress, RegExp]>([
      ['a taken port', (port) => ({ host: '127.0.0.1', port }), /another process already uses it/],
      ['a foreign address', () => ({ host: '192.0.2.1', port: 0 }), /does not have this address/],
      [
        'a missing folder',
        () => ({ socketPath: '/nonexistent/a.sock' }),
        /folder does not exist or is not writable/,
      ],
    ])('says what to do about %s', async (_name, addressOf, message) => {
      const { port } = await start((_request, response) => response.end());
      const failing = listen(createServer(), addressOf(port ?? 0));
      await expect(failing).rejects.toThrow(ListenError);
      await expect(failing).rejects.toThrow(message);
    });
  });

  describe('close', () => {
    it('lets a request in progress finish with Connection: close and cuts idle connections', async () => {
      const arrived = Promise.withResolvers<ServerResponse>();
      const server = await start((request, response) => {
        if (request.url === '/slow') arrived.resolve(response);
        else response.end('quick');
      });
      const agent = new Agent({ keepAlive: true });
      onTestFinished(() => {
        agent.destroy();
      });
      await text(await fetchWith(agent, { port: server.port, path: '/quick' }));
      const slow = fetchWith(new Agent({ keepAlive: true }), { port: server.port, path: '/slow' });
      const response = await arrived.promise;
      const closed = server.close();
      response.end('done');
      const answer = await slow;
      expect(answer.headers.connection).toBe('close');
      expect(await text(answer)).toBe('done');
      await closed;
    });

    it('ends a kept-alive connection whose answer had already begun', async () => {
      const begun = Promise.withResolvers<ServerResponse>();
      const server = await start((_request, response) => {
        response.write('first ');
        begun.resolve(response);
      });
      const pending = fetchWith(new Agent({ keepAlive: true }), { port: server.port });
      const response = await begun.promise;
      const answer = await pending;
      const closed = server.close();
      response.end('second');
      expect(await text(answer)).toBe('first second');
      await closed;
    });

    it('cuts no answer that is complete but not yet sent, and afterwards cuts idle connections', async () => {
      const whole = Buffer.alloc(32 * 1024 * 1024, 'slipway ');
      const ended = Promise.withResolvers<void>();
      const server = await start((request, response) => {
        if (request.url === '/short') {
          response.end('short');
          return;
        }
        response.end(whole);
        ended.resolve();
      });
      const agent = new Agent({ keepAlive: true });
      onTestFinished(() => {
        agent.destroy();
      });
      const idle = await fetchWith(agent, { port: server.port, path: '/short' });
      expect(await text(idle)).toBe('short');
      // Its client takes only as much as the network buffers.
      const slow = await fetchWith(new Agent(), { port: server.port });
      await ended.promise;
      const closed = server.close();
      expect((await buffer(slow)).equals(whole)).toBe(true);
      await closed;
    });

    it('cuts open connections when its signal is aborted, and may be called again', async () => {
      const arrived = Promise.withResolvers<void>();
      const server = await start(() => {
        arrived.resolve();
      });
      const hanging = fetchWith(new Agent(), { port: server.port });
      const failed = expect(hanging).rejects.toThrow();
      await arrived.promise;
      const controller = new AbortController();
      const closed = server.close(controller.signal);
      controller.abort();
      await Promise.all([closed, server.close(), failed]);
    });
  });
});

const LIMITS = { deadlineMs: 100, reuseMs: 60_000 };

describe('a check of the own listener', () => {
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

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const LAST_REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
const GARBAGE = 'GARBAGE\r\n\r\n';

describe('an invalid request', () => {
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

describe('the limit of connections', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('counts %s as %s', (address, key) => {
    expect(clientKey(plainAddress(address))).toBe(key);
  });
});

describe('the delay of failed logins', () => {
  it('delays a bounded number of failed logins at the same time', async () => {
    const delay = createFailedLoginDelay({ delayMs: 40, maxWaiting: 2 });
    const ended: string[] = [];
    const start = async (name: string): Promise<void> => {
      await delay();
      ended.push(name);
    };
    const waiting = [start('first'), start('second')];
    await start('third');
    expect(ended).toEqual(['third']);
    await Promise.all(waiting);
    expect(ended).toEqual(['third', 'first', 'second']);
    const begun = performance.now();
    await start('fourth');
    expect(performance.now() - begun).toBeGreaterThan(30);
  });
});

describe('the networks of clients', () => {
  describe('networks', () => {
    it.each(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '::1'])('accepts %s', (text) => {
      expect(parseNetwork(text)).not.toBeNull();
    });

    it.each([
      '',
      'proxy.example',
      '10.0.0.0/33',
      '10.0.0/8',
      '::1/129',
      '10.0.0.0/',
      '10.0.0.0/-1',
      '1.2.3.4/8/8',
    ])('rejects "%s"', (text) => {
      expect(parseNetwork(text)).toBeNull();
    });

    it('match the addresses in them', () => {
      const matches = createNetworkMatcher(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32']);
      const addresses = [
        '10.200.0.1',
        '192.0.2.7',
        '2001:db8:1::5',
        '11.0.0.1',
        '192.0.2.8',
        '2001:db9::1',
        '',
      ];
      expect(addresses.map(matches)).toEqual([true, true, true, false, false, false, false]);
      expect(createNetworkMatcher([])('10.0.0.1')).toBe(false);
    });
  });

  describe('the bytes of an IPv6 address', () => {
    it.each([
      ['::', '00'.repeat(16)],
      ['::1', `${'00'.repeat(15)}01`],
      ['1:23:456:789a::', `000100230456789a${'00'.repeat(8)}`],
      ['2001:db8:1:2:3:4:5:6', '20010db8000100020003000400050006'],
      ['fe80::1%eth0', `fe80${'00'.repeat(13)}01`],
      ['::ffff:192.0.2.7', `${'00'.repeat(10)}ffffc0000207`],
    ])('%s are %s', (address, bytes) => {
      expect(Buffer.from(bytesOfIPv6(address)).toString('hex')).toBe(bytes);
    });
  });
});
