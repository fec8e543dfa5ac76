import { chmod } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { CONTROL_ACTIONS } from '../../../src/contract/actions/actions.ts';
import { ProblemSchema } from '../../../src/contract/problems/problem-schema.ts';
import { REPORTS, type ReportName } from '../../../src/contract/reports/reports.ts';
import { AdminIndexAnswer } from '../../../src/contract/schemas/answers/admin.ts';
import { READ_OPERATIONS } from '../../../src/server/admin/admin-router.ts';
import { ADMIN_TOKEN, refusal, startAdminServer, type AdminServer } from '../../support/admin-client.ts';
import type { DaemonFault } from '../../support/fake-daemon.ts';
import { HttpConnection } from '../../support/http-connection.ts';
import { rawRequest } from '../../support/raw-http.ts';
import { until } from '../../support/until.ts';

/** Required query of a read. */
const REQUIRED: Partial<Record<ReportName, string>> = {
  'task.status': '?task_id=T1',
  'task.logs': '?task_id=T1',
  'translation.memory.query': '?source_text=x',
  'translation.glossary.diagnose': '?source_text=x',
};

const READS = READ_OPERATIONS.flatMap(({ path, daemon }) =>
  daemon !== undefined && 'report' in daemon ? [{ path, report: daemon.report }] : [],
);

describe('the reads of the admin surface', () => {
  describe('admin reads', () => {
    it('are the 21 of the table, each routed to its own report', async () => {
      const server = await startAdminServer();
      expect(READ_OPERATIONS).toHaveLength(21);
      expect(new Set(READS.map(({ report }) => report))).toEqual(new Set(Object.keys(REPORTS)));
      for (const { path, report } of READS) {
        server.daemon.setReport(report, { report });
        const response = await server.ask(`${path}${REQUIRED[report] ?? ''}`);
        expect([path, response.status, await response.json()]).toEqual([path, 200, { report }]);
        expect(server.daemon.received.at(-1)?.target.split('?')[0]).toBe(`/v1/reports/${report}`);
      }
      // One connection is kept and reused.
      expect(server.daemon.connections().accepted).toBe(1);
    });

    it('begin with the index, which lists the reads and the 25 actions and does not contact the daemon', async () => {
      const server = await startAdminServer();
      const response = await server.ask('/admin/');
      const index = AdminIndexAnswer.schema.parse(await response.json());
      expect(response.status).toBe(200);
      expect(index.links.map(({ path }) => path)).toEqual(READ_OPERATIONS.map(({ path }) => path));
      expect(index.actions.map(({ action }) => action)).toEqual([...CONTROL_ACTIONS]);
      expect(index.control.exposed).toBe(true);
      expect(index.history).toMatchObject({ server: 'server-0', requests: [], states: { official: [] } });
      expect(server.daemon.requests).toEqual([]);
    });

    it('check status and type even of bytes that were valid before', async () => {
      const server = await startAdminServer({ daemonTimeoutMs: 10_000 });
      const answer = async (headers: Record<string, string>, status = 200): Promise<number> => {
        server.daemon.setAnswer('/v1/reports/task.list', { status, body: '{"a":1}', headers });
        return (await server.ask('/admin/tasks')).status;
      };
      expect(await answer({})).toBe(200);
      expect(await answer({})).toBe(200);
      expect(await answer({ 'content-type': 'text/html' })).toBe(503);
      expect(await answer({}, 500)).toBe(503);
      expect(await answer({})).toBe(200);
    });

    it('add the state of the service and the weak tokens of this server to the doctor, with every digit of the daemon', async () => {
      const server = await startAdminServer();
      const body = '{"status":"ok","checks":[{"id":"a","status":"ok"}],"n":9007199254740993}';
      server.daemon.setAnswer('/v1/reports/daemon.doctor', { status: 200, body });
      const first = await (await server.ask('/admin/diagnostics')).text();
      expect(first).toContain('9007199254740993');
      expect(JSON.parse(first)).toMatchObject({
        status: 'degraded',
        checks: [{ id: 'service' }, { id: 'a' }],
      });
      await chmod(server.tokenFile, 0o644);
      const text = await (await server.ask('/admin/diagnostics')).text();
      expect(text).toContain('9007199254740993');
      expect(JSON.parse(text)).toMatchObject({
        status: 'degraded',
        checks: [
          { id: 'service' },
          { id: 'a' },
          {
            id: 'server.secrets',
            status: 'degraded',
            message: `${server.tokenFile}: every user of this machine can read the token; run chmod 600 on it`,
          },
        ],
      });
    });

    it('forward only validated parameters, int64 to the last digit', async () => {
      const server = await startAdminServer();
      server.daemon.setAnswer('/v1/reports/parse.text_units', {
        status: 200,
        body: '{"items":[{"path_id":-9180874206900030759}]}',
      });
      const response = await server.ask(
        `/admin/parse/text-units?path_id=-9180874206900030759&path_pattern=${encodeURIComponent('a&b=../*')}`,
      );
      expect(await response.text()).toBe('{"items":[{"path_id":-9180874206900030759}]}');
      const query = new URL(server.daemon.received[0]?.target ?? '', 'http://daemon').searchParams;
      expect(Object.fromEntries(query)).toEqual({
        offset: '0',
        limit: '100',
        path_id: '-9180874206900030759',
        path_pattern: 'a&b=../*',
      });
    });

    it.each([
      ['/admin/logs?tail=0', 'tail'],
      ['/admin/logs?tail=2001', 'tail'],
      ['/admin/logs?tail=1e3', 'tail'],
      ['/admin/tasks?unknown=1', 'unknown'],
      ['/admin/?unknown=1', 'unknown'],
      ['/admin/tasks/status', 'task_id'],
      ['/admin/tasks/status?task_id=', 'task_id'],
      ['/admin/tasks/logs?task_id=a&task_id=b', 'task_id'],
      ['/admin/parse/text-units?path_id=9223372036854775808', 'path_id'],
      ['/admin/parse/errors?class_id=1.5', 'class_id'],
      ['/admin/schedules?group=other', 'group'],
      ['/admin/schedules?enabled=1', 'enabled'],
      ['/admin/translation/tasks?limit=1001', 'limit'],
      ['/admin/translation/memory/query', 'source_text'],
      [
        `/admin/translation/memory/query?source_text=x&source_context=${encodeURIComponent('{"a":1}')}`,
        'source_context',
      ],
      [
        `/admin/translation/memory/query?source_text=x&source_context=${encodeURIComponent('{"__proto__":"1"}')}`,
        'source_context',
      ],
      ['/admin/translation/memory/conflicts?limit=0', 'limit'],
      ['/admin/translation/glossary/query?review_status=maybe', 'review_status'],
      [
        `/admin/translation/glossary/diagnose?source_text=x&context=${encodeURIComponent('{"a":"1","a":"2"}')}`,
        'context',
      ],
      ['/admin/releases?channel=beta', 'channel'],
      ['/admin/tasks?__proto__=1', '__proto__'],
    ])('refuse %s with 400, naming the parameter, without a request to the daemon', async (path, pointer) => {
      const server = await startAdminServer();
      const response = await server.ask(path);
      const problem = ProblemSchema.parse(await response.json());
      expect([response.status, problem.code, problem.errors?.map((each) => each.pointer)]).toEqual([
        400,
        'invalid_request',
        [pointer],
      ]);
      expect(server.daemon.requests).toEqual([]);
    });

    it('refuse a query that is not percent-encoded, and a body', async () => {
      const server = await startAdminServer();
      expect(await refusal(await server.ask('/admin/parse/errors?format=%ff'))).toEqual([
        400,
        'invalid_request',
      ]);
      const port = Number(new URL(server.url).port);
      const answer = await rawRequest(port, 'GET', '/admin/tasks', {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        'transfer-encoding': 'chunked',
      });
      expect(answer.status).toBe(400);
    });

    it('answer HEAD like GET, 405 with Allow otherwise, and 404 for paths that are not in the table', async () => {
      const server = await startAdminServer();
      server.daemon.setReport('task.list', { items: [] });
      const head = await server.ask('/admin/tasks', { method: 'HEAD' });
      expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '12', '']);
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
        const response = await server.ask('/admin/tasks', { method });
        expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, 'GET, HEAD']);
      }
      for (const path of [
        '/admin/tasks/',
        '/admin//tasks',
        '/admin/Tasks',
        '/admin/%74asks',
        '/admin/nothing',
      ]) {
        expect([path, ...(await refusal(await server.ask(path)))]).toEqual([path, 404, 'not_found']);
      }
    });

    it('lead from /admin to the index, behind any prefix, and never repeat a token', async () => {
      const server = await startAdminServer();
      for (const method of ['GET', 'HEAD']) {
        const { status, headers } = await server.ask('/admin?svc_token=secret', {
          method,
          redirect: 'manual',
        });
        expect([status, headers.get('location')]).toEqual([308, 'admin/']);
      }
      expect(new URL('admin/', 'https://x.example/prefix/admin').pathname).toBe('/prefix/admin/');
      expect((await server.ask('/admin', { method: 'POST' })).status).toBe(405);
    });

    it('are never cached, sniffed, or shared with other sites, whatever they answer', async () => {
      const server = await startAdminServer();
      server.daemon.setReport('task.list', { items: [] });
      const paths = [
        '/admin/',
        '/admin/tasks',
        '/admin/logs',
        '/admin/logs?tail=0',
        '/admin/nothing',
        '/admin/control/x',
      ];
      for (const path of paths) {
        for (const authorization of [`Bearer ${ADMIN_TOKEN}`, 'Bearer wrong']) {
          const { headers } = await server.ask(path, { headers: { authorization } });
          expect([
            headers.get('cache-control'),
            headers.get('referrer-policy'),
            headers.get('x-content-type-options'),
          ]).toEqual(['no-store', 'no-referrer', 'nosniff']);
          expect(headers.get('access-control-allow-origin')).toBeNull();
          expect(headers.get('x-request-id')).toMatch(/^[0-9A-Z]{26}$/);
        }
      }
    });
  });

  describe('a daemon in trouble', () => {
    it.each<NonNullable<DaemonFault>>([
      'hang',
      'drip',
      'garbage',
      'huge',
      'html',
      'coded',
      'refuse',
      'reset',
      'upgrade',
      'endless head',
      'endless interim',
    ])('gives 503 that names the backend for %s, and reads work again afterwards', async (fault) => {
      const server = await startAdminServer();
      server.daemon.setReport('parse.status', { ok: 1 });
      server.daemon.setFault(fault);
      const response = await server.ask('/admin/parse/status');
      const problem = ProblemSchema.parse(await response.json());
      expect([response.status, problem.code]).toEqual([503, 'backend_unavailable']);
      expect(problem.detail).toContain('parse backend');
      expect(response.headers.get('retry-after')).toBe('5');
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
      server.daemon.setFault(null);
      expect((await server.ask('/admin/parse/status')).status).toBe(200);
    });

    it.each([
      [
        'has no such part',
        503,
        { code: 'backend_unavailable', detail: 'this daemon has no parse backend' },
        'this daemon has no parse backend',
      ],
      ['is older than the server', 501, { code: 'not_implemented', detail: 'x' }, 'its version may be older'],
      ['does not know the report', 404, { code: 'unknown_report', detail: 'x' }, 'its version may be older'],
    ])('says so when the daemon %s, and not to try again', async (_what, status, body, said) => {
      const server = await startAdminServer();
      server.daemon.setAnswer('/v1/reports/parse.status', { status, body });
      const response = await server.ask('/admin/parse/status');
      const { code, detail } = ProblemSchema.parse(await response.json());
      expect([response.status, code, response.headers.get('retry-after')]).toEqual([
        503,
        'backend_unavailable',
        null,
      ]);
      expect(detail).toContain(said);
      expect(detail).not.toMatch(/retry|again/i);
    });

    it('gives 503 for every report without a listener', async () => {
      const server = await startAdminServer({ daemonUrl: 'http://127.0.0.1:1' });
      for (const { path, report } of READS) {
        const response = await server.ask(`${path}${REQUIRED[report] ?? ''}`);
        const problem = ProblemSchema.parse(await response.json());
        expect([path, response.status, problem.code, problem.daemon]).toEqual([
          path,
          503,
          'backend_unavailable',
          { status: null, code: null },
        ]);
        expect(problem.detail).toContain(`${REPORTS[report].backend} backend`);
      }
    });

    it.each([
      ['an array', '[]'],
      ['nothing', ''],
      ['repeated keys', '{"a":1,"a":2}'],
      ['half an object', '{"a":1'],
      ['a forbidden key', '{"__proto__":{}}'],
      ['no object', 'null'],
    ])('never forwards %s as a report', async (_what, body) => {
      const server = await startAdminServer();
      server.daemon.setAnswer('/v1/reports/task.list', { status: 200, body });
      expect(await refusal(await server.ask('/admin/tasks'))).toEqual([503, 'backend_unavailable']);
    });

    it.each([
      [400, 'unknown_task', 400, 'unknown_task'],
      [404, 'unknown_task', 400, 'unknown_task'],
      [400, 'invalid_path', 400, 'invalid_path'],
      [400, 'not_a_code', 400, 'invalid_request'],
      [401, 'not_authenticated', 503, 'backend_unavailable'],
      [404, 'unknown_report', 503, 'backend_unavailable'],
      [500, 'internal_error', 503, 'backend_unavailable'],
      [501, 'not_implemented', 503, 'backend_unavailable'],
      [503, 'backend_unavailable', 503, 'backend_unavailable'],
      [302, 'moved', 503, 'backend_unavailable'],
      [202, 'accepted', 503, 'backend_unavailable'],
    ])('maps %i %s to %i %s', async (status, code, expectedStatus, expectedCode) => {
      const server = await startAdminServer();
      server.daemon.setAnswer('/v1/reports/task.status', {
        status,
        headers: { location: 'http://127.0.0.1:1/', 'set-cookie': 'a=b' },
        body: { code, detail: '<script>', internal: 'secret' },
      });
      const response = await server.ask('/admin/tasks/status?task_id=T1');
      const problem = ProblemSchema.parse(await response.json());
      expect([response.status, problem.code, problem.daemon]).toEqual([
        expectedStatus,
        expectedCode,
        { status, code },
      ]);
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      expect(response.headers.get('set-cookie')).toBeNull();
      expect(problem.detail.includes('<script>')).toBe(
        expectedStatus === 400 || code === 'backend_unavailable',
      );
    });

    it('passes on why a part of the daemon cannot be used', async () => {
      const server = await startAdminServer();
      const detail = 'memory.db is damaged; put the file of a backup in its place';
      server.daemon.setAnswer('/v1/reports/translation.memory.query', {
        status: 503,
        body: { code: 'backend_unavailable', detail },
      });
      const response = await server.ask('/admin/translation/memory/query?source_text=x');
      const problem = ProblemSchema.parse(await response.json());
      expect([response.status, problem.code]).toEqual([503, 'backend_unavailable']);
      expect(problem.detail).toContain(detail);
    });

    it('releases many readers of a hanging daemon at their deadline', async () => {
      const server = await startAdminServer();
      server.daemon.setFault('hang');
      const answers = await Promise.all(
        Array.from({ length: 80 }, async () => await server.ask('/admin/tasks')),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
      expect(server.daemon.connections().most).toBeLessThanOrEqual(8);
      server.daemon.setFault(null);
      server.daemon.setReport('task.list', {});
      expect((await server.ask('/admin/tasks')).status).toBe(200);
    });
  });
});

const TOKEN = `Authorization: Bearer ${ADMIN_TOKEN}`;

const portOf = ({ url }: AdminServer): number => Number(new URL(url).port);

function requestOf(target: string, fields: readonly string[] = []): string {
  return `${[`GET ${target} HTTP/1.1`, 'Host: server.example', ...fields].join('\r\n')}\r\n\r\n`;
}

describe('admin reads on the wire', () => {
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
