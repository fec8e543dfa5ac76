import { describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, startAdminServer, type AdminServer } from '../../../support/admin-client.ts';
import { HttpConnection } from '../../../support/http-connection.ts';
import type { RawAnswer } from '../../../support/raw-http.ts';
import { until } from '../../../support/until.ts';

const TOKEN = `Authorization: Bearer ${ADMIN_TOKEN}`;

const portOf = ({ url }: AdminServer): number => Number(new URL(url).port);

function requestOf(target: string, fields: readonly string[] = [], method = 'GET'): string {
  return `${[`${method} ${target} HTTP/1.1`, 'Host: server.example', ...fields].join('\r\n')}\r\n\r\n`;
}

/** What does not depend on the moment. */
function lasting({ statusLine, headers, body }: RawAnswer): object {
  const text = body
    .toString()
    .replace(/"uptime_seconds":\d+/, '"uptime_seconds":0')
    .replace(/"instance":"[^"]+"/, '"instance":"id"')
    // Unix seconds, of whatever it is.
    .replaceAll(/:\d{10}\b/g, ':0');
  const { date = '', 'x-request-id': id = '', ...rest } = headers;
  const ids = { hasDate: date !== '', id: id.startsWith('client-') ? id : id.length };
  return { statusLine, headers: new Map(Object.entries(rest)), ids, text };
}

/** Connections that the fast path still has: those at which nothing was out of the ordinary. */
const kept = (server: AdminServer): number => server.fastPath?.connections ?? 0;

describe('probes and admin reads', () => {
  it.each([
    ['/healthz'],
    ['/healthz?a=%zz'],
    ['/readyz'],
    ['/readyz?verbose=1'],
    ['/readyz?verbose=1&verbose=0'],
    ['/readyz?verbose=maybe'],
    ['/admin/', TOKEN],
    ['/admin/?x=1', TOKEN],
    ['/admin/tasks', TOKEN],
    ['/admin/tasks', TOKEN, 'X-Request-Id: client-0001', 'Via: 1.0 other'],
    ['/admin/tasks?limit=5', TOKEN],
    ['/admin/tasks?limit=five&more=1', TOKEN],
    ['/admin/tasks?limit=%zz', TOKEN],
    ['/admin/tasks'],
    ['/admin/tasks', 'Authorization: Basic eDp5'],
    ['/admin/tasks', 'Authorization: Bearer wrong-token'],
    ['/admin/tasks', 'Authorization: Bearer'],
    [`/admin/tasks?svc_token=${ADMIN_TOKEN}`],
    [`/admin/tasks?svc_token=${ADMIN_TOKEN}`, TOKEN],
    ['/admin/releases', TOKEN],
    ['/admin/tasks/status?task_id=T1', TOKEN],
  ])('are answered on the fast path as by the full server: %s %s', async (target, ...fields) => {
    const answers: Array<{ readonly fast: boolean; readonly [name: string]: unknown }> = [];
    for (const fast of [true, false]) {
      const server = await startAdminServer({ fast });
      server.daemon.setReport('task.list', { report: 'task.list', items: [] });
      server.daemon.setAnswer('/v1/reports/release.list', { status: 500, body: 'no JSON' });
      server.daemon.setAnswer('/v1/reports/task.status', { status: 404, body: { code: 'unknown_task' } });
      const client = await HttpConnection.open(portOf(server));
      for (const method of ['GET', 'HEAD', 'GET']) {
        client.send(requestOf(target, fields, method));
        answers.push({ fast, method, ...lasting(await client.answer(method)) });
      }
      expect(kept(server)).toBe(fast ? 1 : 0);
    }
    const of = (side: boolean): object[] =>
      answers.filter(({ fast }) => fast === side).map((answer) => ({ ...answer, fast: null }));
    expect(of(true)).toEqual(of(false));
  });

  it.each([
    ['another method', 'POST /admin/tasks HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n'],
    ['a body', 'GET /admin/tasks HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n'],
    ['credentials twice', `GET /admin/tasks HTTP/1.1\r\nHost: h\r\n${TOKEN}\r\n`],
    ['a path that is none', 'GET /admin/nothing HTTP/1.1\r\nHost: h\r\n'],
    ['a connection that is to be closed', 'GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n'],
  ])('leave %s to the full server', async (_what, head) => {
    const server = await startAdminServer();
    const client = await HttpConnection.open(portOf(server));
    client.send(`${head}${TOKEN}\r\n\r\n`);
    expect((await client.answer()).status).toBeGreaterThanOrEqual(200);
    expect(kept(server)).toBe(0);
  });

  it('leave a line in the log and a count, under the id of the client', async () => {
    const server = await startAdminServer();
    server.daemon.setReport('task.list', {});
    const client = await HttpConnection.open(portOf(server));
    client.send(requestOf('/admin/tasks', [TOKEN, 'X-Request-Id: client-0002']));
    const answer = await client.answer();
    const line = await until(() => server.log.find((each) => each.includes('"msg":"request"')));
    expect(JSON.parse(line)).toMatchObject({
      method: 'GET',
      route: '/admin/tasks',
      status: 200,
      outcome: 'completed',
      request_id: 'client-0002',
      level: 'info',
    });
    expect((JSON.parse(line) as { bytes: number }).bytes).toBeGreaterThan(answer.body.length + 100);
    expect(server.daemon.received.at(-1)?.headers['x-request-id']).toBe('client-0002');
    expect(await server.registry.metrics()).toMatch(/route="\/admin\/tasks"[^\n]* 1\n/);
  });

  it('answer what was asked too early after what was asked first', async () => {
    const server = await startAdminServer();
    server.daemon.setFault('hang');
    const client = await HttpConnection.open(portOf(server));
    client.send(requestOf('/admin/tasks', [TOKEN]));
    await until(() => server.daemon.requests.length > 0);
    client.send(requestOf('/healthz'));
    client.send(requestOf('/admin/'));
    const statuses: number[] = [];
    for (let at = 0; at < 3; at += 1) statuses.push((await client.answer()).status);
    expect(statuses).toEqual([503, 200, 401]);
  });

  it('let the daemon go when the client has gone', async () => {
    const server = await startAdminServer({ daemonTimeoutMs: 60_000 });
    server.daemon.setFault('hang');
    const client = await HttpConnection.open(portOf(server));
    client.send(requestOf('/admin/tasks', [TOKEN]));
    await until(() => server.daemon.requests.length > 0);
    client.socket.destroy();
    const line = await until(() => server.log.find((each) => each.includes('"msg":"request"')));
    expect(JSON.parse(line)).toMatchObject({ route: '/admin/tasks', outcome: 'aborted', bytes: 0 });
    expect(server.log.filter((each) => each.includes('"level":"error"'))).toEqual([]);
    expect(kept(server)).toBe(0);
  });

  it('are answered while the server drains, and then the connection is closed', async () => {
    const server = await startAdminServer();
    server.daemon.setFault('hang');
    const client = await HttpConnection.open(portOf(server));
    client.send(requestOf('/admin/tasks', [TOKEN]));
    await until(() => server.daemon.requests.length > 0);
    server.fastPath?.drain();
    expect((await client.answer()).status).toBe(503);
    expect((await client.closed()).rest).toHaveLength(0);
  });
});
