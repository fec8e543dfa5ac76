import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { CONTROL_ACTIONS, type ControlAction } from '../../../src/contract/actions/actions.ts';
import { ProblemSchema } from '../../../src/contract/problems/problem-schema.ts';
import { ServiceError } from '../../../src/contract/problems/service-error.ts';
import { REPORTS, type ReportName } from '../../../src/contract/reports/reports.ts';
import { byName } from '../../../src/daemon/api/api-server.ts';
import type { DefinedAction } from '../../../src/engine/define-action.ts';
import { createFolderNames, namesNoPaths } from '../../../src/daemon/api/folder-names.ts';
import { TaskError } from '../../../src/engine/tasks/task.ts';
import { startTestApi, stubReports, type TestApi } from '../../support/daemon-api.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

async function raw(api: TestApi, text: string): Promise<string> {
  const socket = connect(api.listening.port ?? 0, '127.0.0.1');
  socket.end(text);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

describe('the API of the daemon', () => {
  describe('health', () => {
    it('answers even while the daemon is not ready and every other route answers 503', async () => {
      let ready = false;
      const api = await startTestApi({
        readiness: () => ({ ready, message: ready ? 'ready' : 'recovery is not complete' }),
        reports: stubReports({ 'schedule.list': () => ({}) }),
      });
      expect((await api.ask('/healthz')).json()).toEqual({
        status: 'ok',
        version: '0.0.0-test',
        boot_id: 'boot-test',
        uptime_seconds: 0,
      });
      expect((await api.ask('/readyz')).status).toBe(503);
      for (const path of ['/v1/reports/schedule.list', '/v1/attestation']) {
        const answer = await api.ask(path);
        expect([answer.status, answer.json()['code'], answer.headers['retry-after']]).toEqual([
          503,
          'backend_unavailable',
          '1',
        ]);
      }
      expect((await api.ask('/v1/control/sync', { method: 'POST' })).status).toBe(503);
      ready = true;
      expect((await api.ask('/readyz')).json()).toEqual({ ready: true, message: 'ready' });
      expect((await api.ask('/v1/reports/schedule.list')).status).toBe(200);
    });
  });

  describe('routing', () => {
    it.each([
      ['GET', '/', 404, 'not_found'],
      ['GET', '/v1/reports/', 404, 'not_found'],
      ['GET', '/v1/reports/a/b', 404, 'not_found'],
      ['GET', '/v1/reports/..%2fx', 404, 'unknown_report'],
      ['GET', '/v1/reports/constructor', 404, 'unknown_report'],
      ['GET', '//evil.invalid/healthz', 404, 'not_found'],
      ['POST', '/v1/control/__proto__', 404, 'unknown_action'],
      ['POST', '/v1/control/explode', 404, 'unknown_action'],
      ['POST', '/v1/control/sync', 501, 'not_implemented'],
      ['POST', '/v1/control/sync?force=true', 400, 'invalid_request'],
      ['GET', '/v1/reports/parse.status', 503, 'backend_unavailable'],
      ['GET', '/v1/reports/task.status', 400, 'invalid_request'],
      ['GET', '/v1/reports/daemon.logs?tail=2001', 400, 'invalid_request'],
      ['GET', '/v1/attestation', 404, 'no_attestation'],
    ])('%s %s is %i %s', async (method, path, status, code) => {
      const api = await startTestApi();
      const answer = await api.ask(path, { method });
      expect([answer.status, answer.headers['content-type'], answer.json()['code']]).toEqual([
        status,
        'application/problem+json',
        code,
      ]);
      expect(ProblemSchema.parse(answer.json()).status).toBe(status);
      expect(answer.json()['instance']).toBe(answer.headers['x-request-id']);
    });

    it('names the allowed methods', async () => {
      const api = await startTestApi();
      const wrong = [
        ['/v1/control/sync', 'GET', 'POST'],
        ['/v1/reports/task.list', 'POST', 'GET, HEAD'],
        ['/v1/attestation', 'DELETE', 'GET, HEAD'],
        ['/healthz', 'OPTIONS', 'GET, HEAD'],
      ] as const;
      for (const [path, method, allow] of wrong) {
        const answer = await api.ask(path, { method });
        expect([answer.status, answer.headers.allow, answer.json()['code']]).toEqual([
          405,
          allow,
          'method_not_allowed',
        ]);
      }
    });

    it('answers HEAD like GET, without the body', async () => {
      const api = await startTestApi({ reports: stubReports({ 'release.list': () => ({ releases: [] }) }) });
      for (const path of ['/healthz', '/v1/reports/release.list', '/v1/reports/parse.status']) {
        const get = await api.ask(path);
        const head = await api.ask(path, { method: 'HEAD' });
        expect([head.status, head.headers['content-length'], head.body.length]).toEqual([
          get.status,
          String(get.body.length),
          0,
        ]);
      }
    });

    it('keeps a request id that the client sent', async () => {
      const api = await startTestApi();
      const kept = await api.ask('/nothing', { headers: { 'x-request-id': 'from-the-ingress-1' } });
      expect(kept.json()['instance']).toBe('from-the-ingress-1');
      const replaced = await api.ask('/nothing', { headers: { 'x-request-id': 'a b"c' } });
      expect(replaced.json()['instance']).toMatch(/^request-/);
    });

    it.each(['cross-site', 'same-site', 'same-origin', 'anything'])(
      'refuses requests that a page in a browser makes, with Sec-Fetch-Site: %s',
      async (site) => {
        const api = await startTestApi({ reports: stubReports({ 'release.list': () => ({}) }) });
        const ask = async (value: string): Promise<number> =>
          (await api.ask('/v1/reports/release.list', { headers: { 'sec-fetch-site': value } })).status;
        expect(await ask(site)).toBe(403);
        expect(await ask('none')).toBe(200);
      },
    );
  });

  describe('the host of a request', () => {
    const statusFor = async (host: string, allowed: readonly string[] = []): Promise<number> => {
      const api = await startTestApi({
        reports: stubReports({ 'release.list': () => ({}) }),
        allowedHosts: () => allowed,
      });
      return (await api.ask('/v1/reports/release.list', { headers: { host } })).status;
    };

    it.each(['localhost', 'LOCALHOST:8091', '127.0.0.1:1', '127.9.9.9', '[::1]:8091'])(
      'may be %s, of loopback',
      async (host) => {
        expect(await statusFor(host)).toBe(200);
      },
    );

    it.each([
      'rebound.example',
      'rebound.example:8091',
      'localhost.rebound.example',
      '10.0.0.1',
      '127.evil.example',
    ])('may not be %s: a name that was rebound to loopback', async (host) => {
      expect(await statusFor(host)).toBe(403);
    });

    it('may be one of the configured names', async () => {
      expect(await statusFor('daemon.internal:8091', ['daemon.internal'])).toBe(200);
      expect(await statusFor('other.internal', ['daemon.internal'])).toBe(403);
    });

    it('decides about a control action before anything else', async () => {
      const api = await startTestApi();
      const answer = await api.ask('/v1/control/sync', {
        method: 'POST',
        headers: { host: 'rebound.example' },
      });
      expect([answer.status, answer.json()['code']]).toEqual([403, 'control_forbidden']);
    });
  });

  describe('a report', () => {
    it('has the envelope, typed parameters and every digit', async () => {
      const seen: unknown[] = [];
      const api = await startTestApi({
        reports: stubReports({
          'parse.text_units': (query) => {
            seen.push(query);
            return { total: 1, items: [{ path_id: -9180874206900030759n }] };
          },
        }),
      });
      const answer = await api.ask('/v1/reports/parse.text_units?path_id=9007199254740993&limit=7');
      expect(seen).toEqual([{ offset: 0, limit: 7, path_id: 9007199254740993n }]);
      expect(answer.body.toString()).toContain('"path_id":-9180874206900030759}');
      expect(answer.json()).toMatchObject({
        report: 'parse.text_units',
        generated_at: expect.any(Number),
        daemon: { version: '0.0.0-test', boot_id: 'boot-test' },
        total: 1,
      });
      expect(answer.headers).toMatchObject({
        'content-type': 'application/json',
        'cache-control': 'no-store',
      });
    });

    it('names its backend if it has no handler', async () => {
      const api = await startTestApi();
      for (const name of Object.keys(REPORTS) as Array<keyof typeof REPORTS>) {
        const query = name.startsWith('task.') ? '?task_id=x' : '?source_text=x';
        const takesQuery =
          /status$|logs$|memory.query|diagnose/.test(name) && !/parse|translation.status|release/.test(name);
        const answer = await api.ask(
          `/v1/reports/${name}${takesQuery && name !== 'daemon.logs' ? query : ''}`,
        );
        expect([name, answer.status]).toEqual([name, 503]);
        expect(answer.json()['detail']).toContain(REPORTS[name].backend);
      }
    });

    it('passes on errors that have an answer and hides the others', async () => {
      const api = await startTestApi({
        reports: stubReports({
          'release.list': () => {
            throw new ServiceError('backend_unavailable', 'the release backend is down', { retryAfter: 5 });
          },
          'release.status': async () => {
            throw new Error('secret /root/path');
          },
        }),
      });
      expect((await api.ask('/v1/reports/release.list')).headers['retry-after']).toBe('5');
      const hidden = await api.ask('/v1/reports/release.status');
      expect([hidden.status, hidden.json()['code'], hidden.body.includes('/root')]).toEqual([
        500,
        'internal_error',
        false,
      ]);
    });
  });

  describe('the token', () => {
    it('that is wrong is answered with 401 after a delay', async () => {
      const tokenFile = join(await temporaryDirectory(), 'token');
      await writeFile(tokenFile, 'the-only-right-token');
      const api = await startTestApi({ tokenFile: () => tokenFile });
      const milliseconds = async (headers: Record<string, string>): Promise<number> => {
        const begun = performance.now();
        expect((await api.ask('/v1/reports/task.list', { headers })).status).toBe(401);
        return performance.now() - begun;
      };
      expect(await milliseconds({ authorization: 'Bearer a-wrong-token' })).toBeGreaterThan(90);
    });

    it('is required everywhere except for health, and follows its file', async () => {
      const tokenFile = join(await temporaryDirectory(), 'token');
      await writeFile(tokenFile, 'first-token\n');
      const api = await startTestApi({
        tokenFile: () => tokenFile,
        reports: stubReports({ 'release.list': () => ({}) }),
      });
      const status = async (authorization?: string): Promise<number> =>
        (
          await api.ask('/v1/reports/release.list', {
            headers: authorization === undefined ? {} : { authorization },
          })
        ).status;
      expect((await api.ask('/healthz')).status).toBe(200);
      expect((await api.ask('/readyz')).status).toBe(200);
      const refused = await api.ask('/v1/control/explode', { method: 'POST' });
      expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Bearer realm="slipway"']);
      expect(await status()).toBe(401);
      expect(await status('Bearer ')).toBe(401);
      expect(await status('Bearer first-tokem')).toBe(401);
      expect(await status('Basic first-token')).toBe(401);
      expect(await status('bearer first-token')).toBe(200);
      await writeFile(tokenFile, 'the-second-token');
      expect([await status('Bearer first-token'), await status('Bearer the-second-token')]).toEqual([
        401, 200,
      ]);
      await writeFile(tokenFile, '');
      expect([await status('Bearer '), await status('Bearer the-second-token'), await status()]).toEqual([
        401, 401, 401,
      ]);
    });
  });

  describe('an invalid request', () => {
    it.each([
      ['two hosts', 'POST /v1/control/sync HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil'],
      ['the same host twice', 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nhost: 127.0.0.1'],
      ['no host', 'GET /healthz HTTP/1.1'],
      ['a host with a space', 'GET /healthz HTTP/1.1\r\nHost: local host'],
    ])('is refused with %s', async (_, head) => {
      const api = await startTestApi();
      const answer = await raw(api, `${head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    });

    it('gets a problem body and the end of the connection', async () => {
      const api = await startTestApi();
      expect(await raw(api, 'NONSENSE\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid_request"/s);
      const large = `GET /healthz HTTP/1.1\r\nHost: x\r\nx-large: ${'y'.repeat(20_000)}\r\n\r\n`;
      expect(await raw(api, large)).toMatch(/^HTTP\/1\.1 431 .*"code":"headers_too_large"/s);
      const twice =
        'POST /v1/control/sync HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab';
      expect(await raw(api, twice)).toMatch(/^HTTP\/1\.1 400 /);
      expect((await api.ask('/healthz')).status).toBe(200);
    });
  });
});

const TOKEN = 'the-token-of-the-pair';

describe('the room for connections', () => {
  it('keeps room for callers with the token, however many connections others open', async () => {
    const tokenFile = join(await temporaryDirectory(), 'token');
    await writeFile(tokenFile, TOKEN);
    const api = await startTestApi({
      tokenFile: () => tokenFile,
      reports: stubReports({ 'release.list': () => ({}) }),
    });
    const port = api.listening.port ?? 0;
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    const others: Socket[] = [];
    onTestFinished(() => {
      kept.destroy();
      for (const socket of others) socket.destroy();
    });
    const ask = async (agent: Agent | false): Promise<IncomingMessage> => {
      const headers = { authorization: `Bearer ${TOKEN}` };
      const sent = request({ host: '127.0.0.1', port, path: '/v1/reports/release.list', headers, agent });
      const [answer] = (await once(sent.end(), 'response')) as [IncomingMessage];
      answer.resume();
      await once(answer, 'end');
      return answer;
    };
    const { socket } = await ask(kept);
    let closed = 0;
    for (let count = 0; count < 400; count += 1) {
      const other = connect(port, '127.0.0.1');
      other.on('error', () => undefined);
      other.on('close', () => {
        closed += 1;
      });
      await once(other, 'connect');
      // Half a head, as of a client that is slow on purpose.
      other.write('GET /v1/reports/release.list HTTP/1.1\r\nhost: localhost\r\n');
      others.push(other);
    }
    await until(() => closed === 400 - 255);
    const again = await ask(kept);
    expect([again.statusCode, again.socket]).toEqual([200, socket]);
    expect((await ask(false)).statusCode).toBe(200);
    expect(closed).toBeLessThan(160);
  });
});

describe('the names of rooms', () => {
  test('two rooms cannot define one name', () => {
    expect([...byName([{ name: 'a' }, { name: 'b' }]).keys()]).toEqual(['a', 'b']);
    expect(() => byName([{ name: 'a' }, { name: 'a' }])).toThrow('a is defined twice');
  });
});

const CONFIGURATION = {
  data: { dir: '/canary/data' },
  snapshot: { root: '/canary/data/store/' },
  attestation: { signingKeyFiles: ['/canary/keys/a "quoted".key'] },
  exchange: { root: undefined },
  backup: { dir: '//', other: '/' },
};
const MESSAGE = `EACCES: permission denied, open '/canary/data/memory.db'; /canary/data/store is full`;
const nameFolders = (): ReturnType<typeof createFolderNames> => createFolderNames(CONFIGURATION);

const hide = (text: string): unknown =>
  JSON.parse(nameFolders()(Buffer.from(JSON.stringify(text))).toString());

const reports = Object.keys(REPORTS) as ReportName[];
const REQUIRED: Partial<Record<ReportName, string>> = {
  'task.status': '?task_id=T',
  'task.logs': '?task_id=T',
  'translation.memory.query': '?source_text=x',
  'translation.glossary.diagnose': '?source_text=x',
};

function failing<T>(): () => T {
  return () => {
    throw new ServiceError('backend_unavailable', MESSAGE, { errors: [{ pointer: 'x', message: MESSAGE }] });
  };
}

describe('the names of folders', () => {
  describe('the configured paths in a text', () => {
    it.each([
      [MESSAGE, `EACCES: permission denied, open 'data.dir/memory.db'; snapshot.root is full`],
      ['/canary/keys/a "quoted".key: cannot be read', 'attestation.signingKeyFiles: cannot be read'],
      ['/canary/data: is full', 'data.dir: is full'],
      ['/canary/database and /other/canary/data', '/canary/database and /other/canary/data'],
      ['nothing of it', 'nothing of it'],
    ])('of %s are named by their settings', (text, expected) => {
      expect(hide(text)).toBe(expected);
    });
  });

  describe('an answer of the daemon', () => {
    it.each(reports)('that refuses %s names no path', async (name) => {
      const api = await startTestApi({ nameFolders, reports: stubReports({ [name]: failing() }) });
      const { status, body, headers } = await api.ask(`/v1/reports/${name}${REQUIRED[name] ?? ''}`);
      expect(status).toBe(503);
      expect(body.toString()).not.toContain('canary');
      expect(headers['content-length']).toBe(String(body.length));
    });

    it.each(reports.filter(namesNoPaths))('of %s names no path', async (name) => {
      const api = await startTestApi({
        nameFolders,
        reports: stubReports({ [name]: () => ({ reason: MESSAGE }) }),
      });
      const answer = await api.ask(`/v1/reports/${name}${REQUIRED[name] ?? ''}`);
      expect([answer.status, answer.json()['reason']]).toEqual([
        200,
        `EACCES: permission denied, open 'data.dir/memory.db'; snapshot.root is full`,
      ]);
    });

    it.each(CONTROL_ACTIONS)('that refuses %s names no path', async (name: ControlAction) => {
      const refused: DefinedAction = {
        name,
        accept: async () => await Promise.reject(new TaskError('unknown_release', MESSAGE)),
      };
      const api = await startTestApi({ nameFolders, actions: new Map([[name, refused]]) });
      const answer = await api.ask(`/v1/control/${name}`, { method: 'POST' });
      expect([answer.status, answer.body.includes('canary')]).toEqual([404, false]);
    });
  });
});
