import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createReportForwarder,
  type ForwardedRead,
  type ReportForwarder,
} from '../../../../../src/server/admin/reports/report-forwarder.ts';
import type { ReportThreadOptions } from '../../../../../src/server/admin/reports/report-worker.ts';
import { createReportThread } from '../../../../../src/server/admin/reports/report-thread.ts';
import { readTokenFile } from '../../../../../src/platform/files/token-file.ts';
import { DaemonUnavailable } from '../../../../../src/server/daemon-client/daemon-unavailable.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

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

const MAKERS: Readonly<Record<string, (data: ReportThreadOptions) => ReportForwarder>> = {
  'in this thread': ({ tokenFile, ...data }) =>
    createReportForwarder({
      ...data,
      readToken: async () => (tokenFile === undefined ? null : await readTokenFile(tokenFile)),
    }),
  'in a thread of its own': createReportThread,
};

function forwarderTo(
  url: string,
  options: Partial<ReportThreadOptions> = {},
  make: (data: ReportThreadOptions) => ReportForwarder = createReportThread,
): ReportForwarder {
  const forwarder = make({ url, socketPath: undefined, tokenFile: undefined, timeoutMs: 5_000, ...options });
  onTestFinished(async () => {
    await forwarder.close();
  });
  return forwarder;
}

function read(signal = new AbortController().signal): ForwardedRead {
  return {
    report: 'task.list',
    query: new URLSearchParams(),
    requestId: 'request-0001',
    via: '1.1 slipway',
    trace: {},
    signal,
  };
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

describe.each(Object.entries(MAKERS))('the report forwarder %s', (_where, make) => {
  it('reaches a daemon on a Unix socket', async () => {
    const socketPath = join(await temporaryDirectory(), 'daemon.sock');
    await serve(answerReport, { path: socketPath });
    const forwarder = forwarderTo('http://127.0.0.1:1', { socketPath }, make);
    expect((await forwarder.forward(read())).body.toString()).toBe('{"report":"task.list"}');
  });

  it('has room for a hundred concurrent readers, on few connections that are kept', async () => {
    const server = await serve(answerReport, { port: 0 });
    let connections = 0;
    server.on('connection', () => {
      connections += 1;
    });
    const forwarder = forwarderTo(`http://127.0.0.1:${portOf(server)}`, { timeoutMs: 30_000 }, make);
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 100 }, async () => await forwarder.forward(read())),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
    }
    expect(connections).toBe(8);
  });

  it('reaches a daemon that was restarted', async () => {
    const first = await serve(answerReport, { port: 0 });
    const port = portOf(first);
    const forwarder = forwarderTo(`http://127.0.0.1:${port}`, {}, make);
    expect((await forwarder.forward(read())).status).toBe(200);
    const closed = once(first, 'close');
    first.closeAllConnections();
    first.close();
    await closed;
    await expect(forwarder.forward(read())).rejects.toMatchObject({ code: 'unreachable' });
    await serve(answerReport, { port });
    expect((await forwarder.forward(read())).status).toBe(200);
  });

  it('cuts the connection when the client has disconnected', async () => {
    const arrived = Promise.withResolvers<{ readonly closed: Promise<unknown> }>();
    const server = await serve(
      (request) => {
        arrived.resolve({ closed: once(request.socket, 'close') });
      },
      { port: 0 },
    );
    const client = new AbortController();
    const forwarded = forwarderTo(`http://127.0.0.1:${portOf(server)}`, {}, make).forward(
      read(client.signal),
    );
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
    const forwarder = forwarderTo(`http://127.0.0.1:${portOf(server)}`, { timeoutMs: 100 }, make);
    await expect(forwarder.forward(read())).rejects.toMatchObject({ code: 'timeout' });
    await (
      await arrived.promise
    ).closed;
  });

  it('reports that the token for the daemon cannot be read, and sends nothing', async () => {
    const tokenFile = join(await temporaryDirectory(), 'none');
    const forwarder = forwarderTo('http://127.0.0.1:1', { tokenFile }, make);
    const error: unknown = await forwarder.forward(read()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DaemonUnavailable);
    expect(error).toMatchObject({ code: 'token_unreadable' });
  });

  it.each([
    ['no JSON', 'application/json', '{"report":', 'answer_invalid'],
    ['no object', 'application/json', '[]', 'answer_invalid'],
    ['a key twice', 'application/json', '{"a":1,"a":2}', 'answer_invalid'],
    ['another type', 'text/html', '{}', 'answer_type'],
    ['too much', 'application/json', `{"a":"${'x'.repeat(8 * 1024 * 1024)}"}`, 'answer_too_large'],
  ])('forwards no report that is %s', async (_what, type, body, code) => {
    const server = await serve(
      (_request, response) => {
        response.writeHead(200, { 'content-type': type }).end(body);
      },
      { port: 0 },
    );
    const forwarder = forwarderTo(`http://127.0.0.1:${portOf(server)}`, {}, make);
    const error: unknown = await forwarder.forward(read()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DaemonUnavailable);
    expect(error).toMatchObject({ code, status: 200 });
  });

  it("passes on the daemon's refusal with its status", async () => {
    const server = await serve(
      (_request, response) => {
        response
          .writeHead(404, { 'content-type': 'application/problem+json' })
          .end('{"code":"unknown_task"}');
      },
      { port: 0 },
    );
    const answer = await forwarderTo(`http://127.0.0.1:${portOf(server)}`, {}, make).forward(read());
    expect(answer).toMatchObject({ status: 404, contentType: 'application/problem+json' });
    expect(answer.body.toString()).toBe('{"code":"unknown_task"}');
  });
});

describe('the thread that forwards reports', () => {
  it('fails only its own reads when a report is more than its heap can hold, and is restarted', async () => {
    const huge = `{"items":[${'[],'.repeat(2_000_000)}0]}`;
    let body = huge;
    const server = await serve(
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(body);
      },
      { port: 0 },
    );
    const data = { url: `http://127.0.0.1:${portOf(server)}`, socketPath: undefined, tokenFile: undefined };
    const forwarder = createReportThread(
      { ...data, timeoutMs: 30_000 },
      { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 24 },
    );
    onTestFinished(async () => {
      await forwarder.close();
    });
    const error: unknown = await forwarder.forward(read()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'unreachable' });
    expect(String(error)).toContain('the thread that forwards reports');
    body = '{"items":[]}';
    expect((await forwarder.forward(read())).body.toString()).toBe(body);
  });

  it('accepts only as many reads as it has room for, and none when it is closed', async () => {
    const server = await serve(() => undefined, { port: 0 });
    const forwarder = forwarderTo(`http://127.0.0.1:${portOf(server)}`);
    const reads = Array.from({ length: 513 }, async () => await forwarder.forward(read()));
    await expect(reads[512]).rejects.toThrow('512 reads are already waiting');
    const ended = Promise.allSettled(reads);
    await forwarder.close();
    expect((await ended).every(({ status }) => status === 'rejected')).toBe(true);
    await expect(forwarder.forward(read())).rejects.toThrow('shutting down');
  });
});
