import { describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, startAdminServer, type AdminServer } from '../../../support/admin-client.ts';
import { HttpConnection } from '../../../support/http-connection.ts';
import { until } from '../../../support/until.ts';

const TOKEN = `Authorization: Bearer ${ADMIN_TOKEN}`;

const portOf = ({ url }: AdminServer): number => Number(new URL(url).port);

function requestOf(target: string, fields: readonly string[] = []): string {
  return `${[`GET ${target} HTTP/1.1`, 'Host: server.example', ...fields].join('\r\n')}\r\n\r\n`;
}

describe('admin reads', () => {
  it('leave a log line and a count, under the request id of the client', async () => {
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

  it('are answered in the order of the requests', async () => {
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

  it('abort the request to the daemon when the client disconnects', async () => {
    const server = await startAdminServer({ daemonTimeoutMs: 60_000 });
    server.daemon.setFault('hang');
    const client = await HttpConnection.open(portOf(server));
    client.send(requestOf('/admin/tasks', [TOKEN]));
    await until(() => server.daemon.requests.length > 0);
    client.socket.destroy();
    const line = await until(() => server.log.find((each) => each.includes('"msg":"request"')));
    expect(JSON.parse(line)).toMatchObject({
      route: '/admin/tasks',
      outcome: 'aborted',
      status: null,
      bytes: 0,
    });
    expect(server.log.filter((each) => each.includes('"level":"error"'))).toEqual([]);
  });

  it('are answered while the server closes, and then the connection is closed', async () => {
    const server = await startAdminServer();
    server.daemon.setFault('hang');
    const client = await HttpConnection.open(portOf(server));
    client.send(requestOf('/admin/tasks', [TOKEN]));
    await until(() => server.daemon.requests.length > 0);
    const closed = server.listening.close();
    expect((await client.answer()).status).toBe(503);
    expect((await client.closed()).rest).toHaveLength(0);
    await closed;
  });
});
