import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createReportForwarder,
  type ForwardedRead,
  type ReportForwarder,
} from '../../../../src/server/admin/report-forwarder.ts';
import { DaemonUnavailable } from '../../../../src/server/daemon-client/daemon-unavailable.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const answerReport: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"report":"task.list"}');
};

async function serve(
  listener: RequestListener,
  address: { port: number } | { path: string },
): Promise<Server> {
  const server = createServer(listener);
  server.listen({ host: '127.0.0.1', ...address });
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

function forwarderTo(
  url: string,
  options: Partial<Parameters<typeof createReportForwarder>[0]> = {},
): ReportForwarder {
  const forwarder = createReportForwarder({
    url,
    socketPath: undefined,
    readToken: async () => null,
    timeoutMs: 5_000,
    ...options,
  });
  onTestFinished(() => {
    forwarder.close();
  });
  return forwarder;
}

function read(signal = new AbortController().signal): ForwardedRead {
  return {
    report: 'task.list',
    query: new URLSearchParams(),
    requestId: 'request-0001',
    via: '1.1 slipway',
    signal,
  };
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

describe('the report forwarder', () => {
  it('reaches a daemon on a Unix socket', async () => {
    const socketPath = join(await temporaryDirectory(), 'daemon.sock');
    await serve(answerReport, { path: socketPath });
    const forwarder = forwarderTo('http://127.0.0.1:1', { socketPath });
    expect((await forwarder.forward(read())).body.toString()).toBe('{"report":"task.list"}');
  });

  it('has room for a hundred readers at the same moment, on few connections that are kept', async () => {
    const server = await serve(answerReport, { port: 0 });
    let connections = 0;
    server.on('connection', () => {
      connections += 1;
    });
    const forwarder = forwarderTo(`http://127.0.0.1:${portOf(server)}`, { timeoutMs: 30_000 });
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 100 }, async () => await forwarder.forward(read())),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
    }
    expect(connections).toBe(8);
  });

  it('reaches a daemon that was started again', async () => {
    const first = await serve(answerReport, { port: 0 });
    const port = portOf(first);
    const forwarder = forwarderTo(`http://127.0.0.1:${port}`);
    expect((await forwarder.forward(read())).status).toBe(200);
    const closed = once(first, 'close');
    first.closeAllConnections();
    first.close();
    await closed;
    await expect(forwarder.forward(read())).rejects.toMatchObject({ code: 'unreachable' });
    await serve(answerReport, { port });
    expect((await forwarder.forward(read())).status).toBe(200);
  });

  it('cuts the connection when the client has gone', async () => {
    const arrived = Promise.withResolvers<{ readonly closed: Promise<unknown> }>();
    const server = await serve(
      (request) => {
        arrived.resolve({ closed: once(request.socket, 'close') });
      },
      { port: 0 },
    );
    const client = new AbortController();
    const forwarded = forwarderTo(`http://127.0.0.1:${portOf(server)}`).forward(read(client.signal));
    const { closed } = await arrived.promise;
    client.abort(new Error('the client has gone'));
    await expect(forwarded).rejects.toThrow('the client has gone');
    await closed;
  });

  it('cuts an answer that never ends at its deadline', async () => {
    const arrived = Promise.withResolvers<{ readonly closed: Promise<unknown> }>();
    const server = await serve(
      (request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).write('{');
        arrived.resolve({ closed: once(request.socket, 'close') });
      },
      { port: 0 },
    );
    const forwarder = forwarderTo(`http://127.0.0.1:${portOf(server)}`, { timeoutMs: 100 });
    await expect(forwarder.forward(read())).rejects.toMatchObject({ code: 'timeout' });
    await (
      await arrived.promise
    ).closed;
  });

  it('says that the token for the daemon cannot be read, and sends nothing', async () => {
    const forwarder = forwarderTo('http://127.0.0.1:1', {
      readToken: async () => await Promise.reject(new Error('gone')),
    });
    const error: unknown = await forwarder.forward(read()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DaemonUnavailable);
    expect(error).toMatchObject({ code: 'token_unreadable' });
  });
});
