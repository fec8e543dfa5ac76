import { rename, rm, writeFile } from 'node:fs/promises';
import { AdminIndexAnswer } from '../../../src/contract/schemas/answers/admin.ts';
import { describe, expect, it } from 'vitest';
import { READ_OPERATIONS } from '../../../src/server/admin/admin-router.ts';
import { FailedLogins } from '../../../src/server/admin/failed-logins.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { ADMIN_TOKEN, refusal, startAdminServer } from '../../support/admin-client.ts';
import { writeTokenFile } from '../../support/token-file.ts';
import { exchange, rawRequest } from '../../support/raw-http.ts';

const GOOD = { authorization: `Bearer ${ADMIN_TOKEN}` };

describe('the credentials of the admin surface', () => {
  it('are required by every read', async () => {
    const server = await startAdminServer();
    for (const { path } of READ_OPERATIONS) {
      const response = await fetch(`${server.url}${path}`);
      expect([path, ...(await refusal(response))]).toEqual([path, 401, 'not_authenticated']);
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="slipway"');
    }
    expect(server.daemon.requests).toEqual([]);
  });

  it.each<[string, string, Record<string, string>, number]>([
    ['a bearer', '/admin/', GOOD, 200],
    ['a bearer in another case', '/admin/', { authorization: `bEARER   ${ADMIN_TOKEN} ` }, 200],
    ['a query parameter', `/admin/?svc_token=${ADMIN_TOKEN}`, {}, 200],
    [
      'a query parameter beside a header of another scheme',
      `/admin/?svc_token=${ADMIN_TOKEN}`,
      { authorization: 'Basic x' },
      200,
    ],
    ['nothing', '/admin/', {}, 401],
    ['another scheme', '/admin/', { authorization: `Basic ${ADMIN_TOKEN}` }, 401],
    ['no scheme', '/admin/', { authorization: ADMIN_TOKEN }, 401],
    ['an empty bearer', '/admin/', { authorization: 'Bearer ' }, 401],
    ['a wrong token', '/admin/', { authorization: 'Bearer wrong' }, 401],
    ['a token with a suffix', '/admin/', { authorization: `Bearer ${ADMIN_TOKEN}x` }, 401],
    ['two words', '/admin/', { authorization: `Bearer ${ADMIN_TOKEN} x` }, 401],
    ['an empty parameter', '/admin/?svc_token=', {}, 401],
    ['both, equal', `/admin/?svc_token=${ADMIN_TOKEN}`, GOOD, 200],
    ['both, one wrong', `/admin/?svc_token=wrong`, GOOD, 401],
    [
      'a malformed bearer beside a parameter',
      `/admin/?svc_token=${ADMIN_TOKEN}`,
      { authorization: 'Bearer a b' },
      401,
    ],
    ['the parameter twice', `/admin/?svc_token=${ADMIN_TOKEN}&svc_token=${ADMIN_TOKEN}`, {}, 401],
    ['a parameter like an array', `/admin/?svc_token[]=${ADMIN_TOKEN}`, {}, 401],
  ])('may be %s', async (_what, target, fields, status) => {
    const server = await startAdminServer();
    const answer = await rawRequest(Number(new URL(server.url).port), 'GET', target, fields);
    expect(answer.status).toBe(status);
    expect(answer.headers['www-authenticate']).toBe(status === 401 ? 'Bearer realm="slipway"' : undefined);
  });

  it('admit the tokens of auth.tokens to every read, and tell the daemon whose call it is', async () => {
    const limited = await writeTokenFile('canary-translator-token');
    const server = await startAdminServer({
      config: {
        admin: { tokenFiles: [], exposeControl: true },
        auth: { tokens: [{ file: limited, id: 'mika', allow: ['translate', 'review'] }] },
      },
    });
    const authorization = 'Bearer canary-translator-token';
    const index = AdminIndexAnswer.schema.parse(
      await (await server.ask('/admin/', { headers: { authorization } })).json(),
    );
    expect(index.token).toEqual({ id: 'mika', scopes: ['translate', 'review'] });
    const allowed = new Set(index.actions.filter((each) => each.allowed).map(({ action }) => action));
    // The job that a schedule names decides about it.
    expect(
      ['translation-task-update', 'translation-proofread', 'schedule-add'].filter(
        (each) => !allowed.has(each),
      ),
    ).toEqual([]);
    expect(['sync', 'localized-publish', 'restart'].filter((each) => allowed.has(each))).toEqual([]);
    server.daemon.setAnswer('/v1/control/sync', {
      status: 403,
      body: '{"code":"scope_missing","detail":"sync needs operate"}',
      headers: { 'content-type': 'application/problem+json' },
    });
    const response = await server.control('sync', undefined, { authorization });
    expect([response.status, await response.json()]).toEqual([
      403,
      expect.objectContaining({ code: 'scope_missing', detail: 'sync needs operate' }),
    ]);
    const { headers } = server.daemon.received.at(-1) ?? {};
    expect([headers?.['slipway-token-id'], headers?.['slipway-token-allow']]).toEqual([
      'mika',
      'translate,review',
    ]);
    const lines = server.log.map((line) => JSON.parse(line) as Record<string, unknown>);
    const audit = lines.find((line) => line['audit'] === 'control');
    expect(audit).toMatchObject({ audit: 'control', token_id: 'mika', status: 403, code: 'scope_missing' });
  });

  it('must not be repeated', async () => {
    const server = await startAdminServer();
    const field = `Authorization: Bearer ${ADMIN_TOKEN}\r\n`;
    const answer = await exchange(
      Number(new URL(server.url).port),
      `GET /admin/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${field}${field}\r\n`,
    );
    expect(answer.status).toBe(401);
  });

  it('rotate without a restart, and are refused when their file is deleted', async () => {
    const clock = new FakeClock();
    const server = await startAdminServer({ clock });
    const status = async (token: string): Promise<number> =>
      (await fetch(`${server.url}/admin/`, { headers: { authorization: `Bearer ${token}` } })).status;
    expect(await status(ADMIN_TOKEN)).toBe(200);
    await writeFile(`${server.tokenFile}.new`, 'the-next-token-1');
    await rename(`${server.tokenFile}.new`, server.tokenFile);
    await clock.advance(1_001);
    expect([await status(ADMIN_TOKEN), await status('the-next-token-1')]).toEqual([401, 200]);
    await rm(server.tokenFile);
    await clock.advance(1_001);
    expect([await status('the-next-token-1'), await status(ADMIN_TOKEN)]).toEqual([401, 401]);
    expect(server.log.filter((line) => line.includes('token file cannot be read'))).toHaveLength(1);
  });

  it.each<[string, Record<string, string>, readonly string[] | null, RegExp]>([
    [
      'a wrong token',
      { authorization: 'Bearer wrong' },
      null,
      /^The token is not an admin token of this server/,
    ],
    ['no token', {}, null, /^An admin token is required: send it as/],
    ['a server without tokens', GOOD, [], /^No admin token is configured on this server.*admin\.tokenFiles/],
  ])('are refused with the reason: %s', async (_what, headers, tokenFiles, detail) => {
    const config = tokenFiles === null ? {} : { config: { admin: { tokenFiles, exposeControl: true } } };
    const server = await startAdminServer(config);
    const response = await fetch(`${server.url}/admin/tasks`, { headers });
    expect([response.status, ((await response.json()) as { detail: string }).detail]).toEqual([
      401,
      expect.stringMatching(detail),
    ]);
  });

  it('are decided on control in the order of the interface', async () => {
    const unconfigured = await startAdminServer({
      config: { admin: { tokenFiles: [], exposeControl: true } },
    });
    expect(await refusal(await unconfigured.control('nothing', '['))).toEqual([403, 'control_forbidden']);
    expect(await refusal(await unconfigured.ask('/admin/tasks?bad=1'))).toEqual([401, 'not_authenticated']);

    const hidden = await startAdminServer({ exposeControl: false });
    const wrong = { authorization: 'Bearer wrong' };
    expect(await refusal(await hidden.control('nothing', '[', wrong))).toEqual([401, 'not_authenticated']);
    expect(await refusal(await hidden.control('nothing', '['))).toEqual([403, 'control_forbidden']);
    const index = (await (await hidden.ask('/admin/')).json()) as { control: { exposed: boolean } };
    expect(index.control.exposed).toBe(false);

    const exposed = await startAdminServer();
    expect(await refusal(await exposed.control('nothing', '['))).toEqual([404, 'unknown_action']);
    expect(await refusal(await exposed.control('sync', '['))).toEqual([400, 'invalid_request']);
    expect(exposed.daemon.requests).toEqual([]);
  });
});

describe('a wrong token', () => {
  it('is answered with 401 after a delay, and delays no valid token', async () => {
    const server = await startAdminServer();
    const seconds = async (token: string): Promise<readonly [number, number]> => {
      const begun = performance.now();
      const headers = { authorization: `Bearer ${token}` };
      const { status } = await fetch(`${server.url}/admin/`, { headers });
      return [status, (performance.now() - begun) / 1_000];
    };
    await seconds(ADMIN_TOKEN);
    const order: string[] = [];
    const wrong = Array.from({ length: 100 }, async () => {
      const [status, took] = await seconds('wrong');
      order.push('wrong');
      return { status, took };
    });
    const right = seconds(ADMIN_TOKEN).then(([status]) => {
      order.push('right');
      return status;
    });
    expect(await right).toBe(200);
    const answers = await Promise.all(wrong);
    expect(answers.every(({ status }) => status === 401)).toBe(true);
    // The others got theirs without a delay, because a bounded number waits.
    expect(answers.filter(({ took }) => took >= 0.09).length).toBeGreaterThanOrEqual(64);
    expect(order.indexOf('right')).toBeLessThan(order.lastIndexOf('wrong'));
  });
});

describe('too many wrong tokens', () => {
  it('must wait, while the right one and the probes are accepted', async () => {
    const server = await startAdminServer();
    const wrong = async (): Promise<Response> =>
      await server.ask('/admin/', { headers: { authorization: 'Bearer no' } });
    for (let attempt = 1; attempt <= 20; attempt += 1) {
      const response = await wrong();
      expect([attempt, response.status, response.headers.get('retry-after')]).toEqual([attempt, 401, null]);
    }
    const limited = await wrong();
    await wrong();
    expect([limited.status, Number(limited.headers.get('retry-after')) > 0]).toEqual([401, true]);
    expect((await server.ask('/admin/')).status).toBe(200);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(server.log.filter((line) => line.includes('too many wrong admin tokens'))).toHaveLength(1);
    const metrics = await server.registry.metrics();
    expect(metrics).toContain('slipway_admin_auth_failures_total{reason="refused"} 20');
    expect(metrics).toContain('slipway_admin_auth_failures_total{reason="limited"} 2');
  });

  it('are forgotten after the window, and remembered for a bounded number of sources', () => {
    const logins = new FailedLogins({ perWindow: 1, windowMs: 1_000, sources: 2 });
    expect(logins.record('a', 0)).toEqual({ retryAfter: null, isFirstBeyond: false });
    expect(logins.record('a', 1)).toEqual({ retryAfter: 1, isFirstBeyond: true });
    expect(logins.record('a', 2)).toEqual({ retryAfter: 1, isFirstBeyond: false });
    expect(logins.record('a', 1_000).retryAfter).toBeNull();
    logins.record('b', 1_000);
    logins.record('c', 1_000);
    expect(logins.record('a', 1_001).retryAfter).toBeNull();
    expect(logins.record('c', 1_001).retryAfter).toBe(1);
  });
});
