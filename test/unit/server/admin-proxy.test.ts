import { once } from 'node:events';
import {
  createServer,
  get,
  IncomingMessage,
  ServerResponse,
  type RequestListener,
  type Server,
} from 'node:http';
import { Socket, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { forwardReport, type ReportParts } from '../../../src/server/admin/reports.ts';
import { ADMIN_TOKEN, refusal, startAdminServer } from '../../support/admin-client.ts';
import { HttpConnection } from '../../support/http-connection.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

const answerReport: RequestListener = (_request, response) => {
  response.writeHead(200, JSON_TYPE).end('{"report":"task.list"}');
};

async function serve(
  listener: RequestListener,
  address: { port: number } | { path: string } = { port: 0 },
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

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** A report of about this length, whose last integer is beyond 2^53. */
function longReport(bytes: number): string {
  return `{"text":"${'x'.repeat(bytes)}","n":9007199254740993}`;
}

const LONG = longReport(3 * 1024 * 1024);

describe('the proxy to the daemon', () => {
  it('reaches a daemon on a Unix socket', async () => {
    const daemonSocket = join(await temporaryDirectory(), 'daemon.sock');
    await serve(answerReport, { path: daemonSocket });
    const server = await startAdminServer({ daemonUrl: 'http://127.0.0.1:1', daemonSocket });
    expect(await (await server.ask('/admin/tasks')).json()).toEqual({ report: 'task.list' });
  });

  it('has room for a hundred concurrent readers, on few connections that are kept', async () => {
    const daemon = await serve(answerReport);
    let connections = 0;
    daemon.on('connection', () => {
      connections += 1;
    });
    const server = await startAdminServer({ daemonUrl: urlOf(daemon), daemonTimeoutMs: 30_000 });
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 100 }, async () => (await server.ask('/admin/tasks')).status),
      );
      expect(answers.filter((status) => status === 200)).toHaveLength(100);
    }
    expect(connections).toBe(8);
  });

  it('reaches a daemon that was restarted', async () => {
    const first = await serve(answerReport);
    const { port } = first.address() as AddressInfo;
    const server = await startAdminServer({ daemonUrl: urlOf(first) });
    expect((await server.ask('/admin/tasks')).status).toBe(200);
    const closed = once(first, 'close');
    first.closeAllConnections();
    first.close();
    await closed;
    expect(await refusal(await server.ask('/admin/tasks'))).toEqual([503, 'backend_unavailable']);
    await serve(answerReport, { port });
    expect((await server.ask('/admin/tasks')).status).toBe(200);
  });

  it('sends nothing when the token for the daemon cannot be read', async () => {
    const server = await startAdminServer({ daemonToken: new Error('no such file') });
    expect(await refusal(await server.ask('/admin/tasks'))).toEqual([503, 'backend_unavailable']);
    const response = await server.control('sync', '{}');
    expect(await response.json()).toMatchObject({
      code: 'daemon_unreachable',
      detail: expect.stringContaining('the action was not sent') as unknown,
    });
    expect(server.daemon.requests).toEqual([]);
  });

  it('closes the connection to the daemon when the client disconnects', async () => {
    const arrived = Promise.withResolvers<{ readonly closed: Promise<unknown> }>();
    const daemon = await serve((request) => {
      arrived.resolve({ closed: once(request.socket, 'close') });
    });
    const server = await startAdminServer({ daemonUrl: urlOf(daemon), daemonTimeoutMs: 60_000 });
    const client = await HttpConnection.open(Number(new URL(server.url).port));
    client.send(`GET /admin/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\n\r\n`);
    const { closed } = await arrived.promise;
    client.socket.destroy();
    await closed;
  });

  it('waits for the end of an action whose client has left, so that the audit line states its result', async () => {
    const arrived = Promise.withResolvers<() => void>();
    const daemon = await serve((_request, response) => {
      const body =
        '{"accepted":true,"action":"sync","task_id":"01TASK","status":"queued","deduplicated":false,"ignored_fields":[]}';
      arrived.resolve(() => {
        response.writeHead(202, JSON_TYPE).end(body);
      });
    });
    const server = await startAdminServer({ daemonUrl: urlOf(daemon), daemonTimeoutMs: 60_000 });
    const client = await HttpConnection.open(Number(new URL(server.url).port));
    client.send(
      `POST /admin/control/sync HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\n\r\n`,
    );
    const accept = await arrived.promise;
    client.socket.destroy();
    await until(() => server.log.find((each) => each.includes('"outcome":"aborted"')));
    accept();
    const line = await until(() => server.log.find((each) => each.includes('"audit":"control"')));
    expect(JSON.parse(line)).toMatchObject({ action: 'sync', status: 202, task_id: '01TASK' });
  });
});

describe('a long report', () => {
  it('passes as it is, to the last digit, also to a slow client', async () => {
    const server = await startAdminServer();
    server.daemon.setAnswer('/v1/reports/task.list', { status: 200, body: LONG });
    const response = await server.ask('/admin/tasks');
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(response.headers.get('content-length')).toBe(String(LONG.length));
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect((await response.text()) === LONG).toBe(true);
    const head = await server.ask('/admin/tasks', { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(LONG.length)]);
    expect((await server.ask('/admin/tasks')).status).toBe(200);
    const metrics = await server.registry.metrics();
    expect(metrics).toContain(
      'slipway_admin_forward_duration_seconds_count{report="task.list",outcome="ok"}',
    );
  });

  it('to a client that reads nothing does not keep the connection to the daemon', async () => {
    const daemon = await serve((_request, response) => {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': LONG.length }).end(LONG);
    });
    const [answer] = (await once(get(urlOf(daemon)), 'response')) as [IncomingMessage];
    const request = new IncomingMessage(new Socket());
    const response = new ServerResponse(request);
    const client = new Duplex({ read: () => undefined, write: () => undefined });
    response.assignSocket(client as Socket);
    const parts = {
      proxy: { read: async () => await Promise.resolve(answer) },
      presence: { observe: async (call: () => Promise<unknown>) => await call() },
      metrics: { forwarded: () => undefined },
      clock: systemClock,
      stallTimeoutMs: 60_000,
    } as unknown as ReportParts;
    const read = { report: 'task.list', query: {}, requestId: 'r1' } as const;
    const sent = forwardReport(parts, read, { request, response }).catch(() => undefined);
    await once(answer, 'end');
    client.destroy();
    await sent;
  });

  it('begins before the daemon has sent its end', async () => {
    const proceed = Promise.withResolvers<void>();
    const daemon = await serve((_request, response) => {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': LONG.length }).write(LONG.slice(0, 1000));
      void proceed.promise.then(() => response.end(LONG.slice(1000)));
    });
    const server = await startAdminServer({ daemonUrl: urlOf(daemon), daemonTimeoutMs: 60_000 });
    const response = await server.ask('/admin/tasks');
    proceed.resolve();
    expect((await response.text()) === LONG).toBe(true);
  });

  it.each<[string, RequestListener]>([
    [
      'is cut off',
      (_request, response) => {
        response.writeHead(200, { ...JSON_TYPE, 'content-length': LONG.length });
        response.write(LONG.slice(0, 1_000_000), () => response.destroy());
      },
    ],
    [
      'stops',
      (_request, response) => {
        response.writeHead(200, { ...JSON_TYPE, 'content-length': LONG.length }).write(LONG.slice(0, 1000));
      },
    ],
  ])('that %s cuts the response, and reads work again afterwards', async (_what, listener) => {
    let answer = listener;
    const daemon = await serve((request, response) => {
      answer(request, response);
    });
    const server = await startAdminServer({ daemonUrl: urlOf(daemon) });
    const response = await server.ask('/admin/tasks');
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    answer = answerReport;
    expect((await server.ask('/admin/tasks')).status).toBe(200);
    const metrics = await server.registry.metrics();
    const name = 'slipway_admin_forward_duration_seconds_count{report="task.list",outcome=';
    expect(metrics).toContain(`${name}"unavailable"} 1`);
    expect(metrics).toContain(`${name}"ok"} 1`);
    expect(server.log.filter((each) => each.includes('"level":"error"'))).toEqual([]);
  });

  it.each([
    ['longer than the bound', longReport(8 * 1024 * 1024), {}],
    ['of another type', LONG, { 'content-type': 'text/html' }],
    ['with a content coding', LONG, { 'content-encoding': 'gzip' }],
  ])('%s is not forwarded', async (_what, body, headers) => {
    const server = await startAdminServer();
    server.daemon.setAnswer('/v1/reports/task.list', { status: 200, body, headers });
    expect(await refusal(await server.ask('/admin/tasks'))).toEqual([503, 'backend_unavailable']);
  });

  it('of the doctor gets the findings of the server', async () => {
    const server = await startAdminServer();
    const body = `{"status":"ok","checks":[],"padding":"${'x'.repeat(1024 * 1024)}"}`;
    server.daemon.setAnswer('/v1/reports/daemon.doctor', { status: 200, body });
    expect(await (await server.ask('/admin/diagnostics')).json()).toMatchObject({
      checks: [{ id: 'service' }],
    });
  });
});

describe('a report that the daemon cuts off', () => {
  it('cuts the response, and reads work again afterwards', async () => {
    const server = await startAdminServer();
    server.daemon.setReport('parse.status', { ok: 1 });
    server.daemon.setFault('truncated');
    await expect(server.ask('/admin/parse/status')).rejects.toThrow();
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    server.daemon.setFault(null);
    expect((await server.ask('/admin/parse/status')).status).toBe(200);
    const metrics = await server.registry.metrics();
    expect(metrics).toContain(
      'slipway_admin_forward_duration_seconds_count{report="parse.status",outcome="unavailable"} 1',
    );
  });
});
