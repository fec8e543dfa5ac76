import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rename, stat, writeFile } from 'node:fs/promises';
import { Agent, createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen, ListenError, type ListenAddress } from '../../../../src/platform/http/listen.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const HAS_IPV6 = Object.values(networkInterfaces()).some((list = []) =>
  list.some(({ address }) => address === '::1'),
);
const LOOPBACK = { host: '127.0.0.1', port: 0 };

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

async function fetchWith(agent: Agent, options: object): Promise<IncomingMessage> {
  const [response] = (await once(get({ agent, ...options }), 'response')) as [IncomingMessage];
  return response;
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
