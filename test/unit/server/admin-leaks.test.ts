import { describe, expect, it } from 'vitest';
import { readConsoleFiles } from '../../../src/server/console/console-files.ts';
import { ADMIN_TOKEN, startAdminServer } from '../../support/admin-client.ts';
import { exchange, rawRequest } from '../../support/raw-http.ts';

const DAEMON_TOKEN = 'daemon-secret-77aa';

/** Fields that a client must not be able to send to the daemon. */
const SMUGGLED = {
  cookie: 'session=canary-cookie',
  forwarded: 'for=canary-forwarded',
  'x-forwarded-for': 'canary-xff',
  'x-forwarded-host': 'canary-xfh',
  'x-real-ip': 'canary-ip',
  'proxy-authorization': 'Basic canary-proxy',
  'proxy-connection': 'keep-alive, canary-proxy-connection',
  'keep-alive': 'timeout=canary',
  te: 'trailers, canary-te',
  trailer: 'canary-trailer',
  'x-http-method-override': 'DELETE',
  'x-named-hop': 'canary-hop',
  origin: 'https://resources.example.org',
  range: 'bytes=0-1',
  'if-none-match': '"canary-etag"',
  'accept-encoding': 'gzip, br',
};

describe('a request to the daemon', () => {
  it('contains only what this service wrote, whatever the client sends', async () => {
    const server = await startAdminServer({ daemonToken: DAEMON_TOKEN });
    server.daemon.setReport('task.list', {});
    const port = Number(new URL(server.url).port);
    const answer = await rawRequest(port, 'GET', `http://canary-host/admin/tasks?svc_token=${ADMIN_TOKEN}`, {
      host: 'canary-host',
      connection: 'close, X-Named-Hop, Upgrade',
      upgrade: 'websocket',
      via: '1.0 ingress',
      'x-request-id': 'request-0001',
      ...SMUGGLED,
    });
    expect(answer.status).toBe(200);
    const [received] = server.daemon.received;
    expect(received?.target).toBe('/v1/reports/task.list');
    expect(received?.headers).toEqual({
      host: new URL(server.daemon.url).host,
      connection: 'keep-alive',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'x-request-id': 'request-0001',
      via: '1.0 ingress, 1.1 slipway',
      authorization: `Bearer ${DAEMON_TOKEN}`,
    });
  });

  it('is, for control, the body alone', async () => {
    const server = await startAdminServer({ daemonToken: DAEMON_TOKEN });
    await rawRequest(Number(new URL(server.url).port), 'POST', '/admin/control/sync', {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      connection: 'close, X-Named-Hop',
      ...SMUGGLED,
    });
    const { headers } = server.daemon.received[0] ?? {};
    expect(Object.keys(headers ?? {}).sort()).toEqual([
      'accept',
      'accept-encoding',
      'authorization',
      'connection',
      'content-length',
      'content-type',
      'host',
      'slipway-token-id',
      'x-request-id',
    ]);
    expect(JSON.stringify(server.daemon.received)).not.toContain('canary');
  });

  it.each([
    ['two lengths', 'Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}'],
    ['length and chunks', 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a folded header', 'X-A: b\r\n Authorization: c\r\n\r\n'],
    ['a chunked coding that is none', 'Transfer-Encoding: xchunked\r\n\r\n'],
  ])('is not sent for %s', async (_what, rest) => {
    const server = await startAdminServer();
    const answer = await exchange(
      Number(new URL(server.url).port),
      `POST /admin/control/sync HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\n${rest}`,
    );
    expect(answer.status).toBe(400);
    expect(server.daemon.requests).toEqual([]);
  });
});

describe('the token', () => {
  it('that a caller sends as request id or in free text reaches neither a log line nor the daemon', async () => {
    const server = await startAdminServer();
    server.daemon.setReport('task.list', {});
    // The server of this test reads its token file at the first login, the program at its start.
    expect((await server.ask('/admin/')).status).toBe(200);
    const id = { 'x-request-id': `id-${ADMIN_TOKEN}` };
    const body = { reason: `because ${ADMIN_TOKEN}`, reviewer: ADMIN_TOKEN, scope: { a: [ADMIN_TOKEN] } };
    expect((await server.ask('/admin/tasks', { headers: id })).status).toBe(200);
    await server.control('sync', JSON.stringify({ ...body, scope: { a: ADMIN_TOKEN } }), id);
    expect((await server.control('sync', JSON.stringify(body), id)).status).toBe(400);
    expect((await fetch(`${server.url}/healthz`, { headers: id })).status).toBe(200);
    expect((await fetch(`${server.url}/${ADMIN_TOKEN}/x/y`, { headers: id })).status).toBe(404);
    expect(server.log.join('')).toContain('"request_id":"id-[redacted]"');
    expect(server.log.join('')).not.toContain(ADMIN_TOKEN);
    const [, posted] = server.daemon.received;
    expect(JSON.parse(posted?.body ?? '')).toEqual({
      reason: 'because [redacted]',
      reviewer: '[redacted]',
      scope: { a: '[redacted]' },
    });
    expect(JSON.stringify(server.daemon.received)).not.toContain(ADMIN_TOKEN);
  });

  it('is in no log line, metric, answer, page or forwarded request', async () => {
    const server = await startAdminServer();
    server.daemon.setReport('task.list', {});
    const port = Number(new URL(server.url).port);
    const answers: string[] = [];
    const query = `svc_token=${ADMIN_TOKEN}`;
    const targets = [
      `/admin/?${query}`,
      `/admin/tasks?${query}`,
      `/admin/logs?${query}`,
      `/admin/logs?${query}&tail=0`,
      `/admin/logs?${query}&${query}`,
      `/admin/tasks?${query}&%zz`,
      `/admin/${ADMIN_TOKEN}?${query}`,
      `/admin/control/${ADMIN_TOKEN}?${query}`,
      `/admin?${query}`,
      `/healthz?${query}`,
      `/nothing?${query}`,
      `//admin/tasks?${query}`,
      `/admin/dashboard/?${query}`,
      ...[...(await readConsoleFiles()).keys()].map((name) => `/admin/dashboard/${name}?${query}`),
    ];
    for (const target of targets) {
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const answer = await rawRequest(port, method, target, {
          referer: `http://x/admin/?${query}`,
          'x-request-id': ADMIN_TOKEN.slice(0, 6),
        });
        answers.push(JSON.stringify(answer.headers), answer.body.toString());
      }
    }
    for (const fault of ['hang', 'reset', 'refuse', 'html'] as const) {
      server.daemon.setFault(fault);
      answers.push(await (await server.ask('/admin/tasks')).text());
      answers.push(await (await server.control('sync', '{}')).text());
    }
    expect(answers.length).toBeGreaterThan(70);
    const canary = 'canary-4f1d0c';
    expect(answers.join('\n')).not.toContain(canary);
    expect(server.log.join('')).not.toContain(canary);
    expect(await server.registry.metrics()).not.toContain(canary);
    expect(JSON.stringify(server.daemon.received)).not.toContain(canary);
  });

  it('leaves the route template in the access log', async () => {
    const server = await startAdminServer();
    await (await server.ask('/admin/logs?tail=0')).text();
    await (await server.control('unknown-name')).text();
    await (await server.ask('/admin/x')).text();
    const routes = server.log
      .map((line) => JSON.parse(line) as { msg: string; route?: string })
      .filter(({ msg }) => msg === 'request')
      .map(({ route }) => route);
    expect(routes).toEqual(['/admin/logs', '/admin/control/{action}', 'none']);
  });
});

describe('the metrics of the admin surface', () => {
  it('count calls to the daemon by report and outcome', async () => {
    const server = await startAdminServer();
    server.daemon.setReport('task.list', {});
    await server.ask('/admin/tasks');
    await server.ask('/admin/logs');
    await server.control('sync', '{}');
    const metrics = await server.registry.metrics();
    const name = 'slipway_admin_forward_duration_seconds_count';
    expect(metrics).toContain(`${name}{report="task.list",outcome="ok"} 1`);
    expect(metrics).toContain(`${name}{report="daemon.logs",outcome="unavailable"} 1`);
    expect(metrics).toContain(`${name}{report="control",outcome="unavailable"} 1`);
  });
});
