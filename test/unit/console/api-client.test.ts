import { describe, expect, it, vi } from 'vitest';
import { createApiClient } from '../../../src/console/api/api-client.ts';
import { createTokenVault } from '../../../src/console/api/token-vault.ts';

const TOKEN = 'canary-unit-token';

function clientFor(answer: () => Response | Promise<Response>): {
  readonly client: ReturnType<typeof createApiClient>;
  readonly calls: Array<[string, RequestInit]>;
  readonly refused: ReturnType<typeof vi.fn>;
} {
  const calls: Array<[string, RequestInit]> = [];
  const refused = vi.fn();
  const client = createApiClient({
    fetch: async (path, init = {}) => {
      calls.push([path as string, init]);
      return await answer();
    },
    vault: { get: () => TOKEN },
    onUnauthorized: refused,
  });
  return { client, calls, refused };
}

describe('requests to the server', () => {
  it('sends the token only in the header, and no cookies', async () => {
    const { client, calls } = clientFor(() => Response.json({ ok: true }));
    await client.read('/admin/logs', { query: { tail: '5' } });
    await client.control('/admin/control/sync', '{}', 'k').catch(() => undefined);
    for (const [path, init] of calls) {
      expect(`${path} ${JSON.stringify(init.body)}`).not.toContain(TOKEN);
      expect(new Headers(init.headers).get('authorization')).toBe(`Bearer ${TOKEN}`);
      expect(init).toMatchObject({ credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer' });
    }
    expect(calls[0]?.[0]).toBe('/admin/logs?tail=5');
  });

  it('keeps every digit of an answer', async () => {
    const { client } = clientFor(
      () => new Response('{"id":-9180874206900030759}', { headers: { 'content-type': 'application/json' } }),
    );
    expect(await client.read('/x')).toEqual({ id: -9180874206900030759n });
  });

  it('reports the problem, the cause and how long to wait', async () => {
    const problem = { code: 'backend_unavailable', detail: 'The daemon task backend is unavailable.' };
    const { client, refused } = clientFor(() =>
      Response.json(problem, { status: 503, headers: { 'retry-after': '4' } }),
    );
    await expect(client.read('/x')).rejects.toMatchObject({
      status: 503,
      message: problem.detail,
      retryAfter: 4,
      problem,
    });
    expect(await client.read('/x', { accept: [503] })).toEqual(problem);
    expect(refused).not.toHaveBeenCalled();
  });

  it('does not take a late refusal of an older token for one of the present token', async () => {
    const refused = vi.fn();
    let token = 'first';
    const { promise, resolve } = Promise.withResolvers<Response>();
    const client = createApiClient({
      fetch: async () => await promise,
      vault: { get: () => token },
      onUnauthorized: refused,
    });
    const late = client.read('/x');
    token = 'second';
    resolve(Response.json({}, { status: 401 }));
    await expect(late).rejects.toMatchObject({ status: 401 });
    expect(refused).not.toHaveBeenCalled();
  });

  it('distinguishes an unreachable server from one that refuses the token', async () => {
    const gone = clientFor(() => {
      throw new TypeError('fetch failed');
    });
    await expect(gone.client.read('/x')).rejects.toMatchObject({ status: 0, isOffline: true });
    const refusing = clientFor(() => Response.json({ code: 'not_authenticated' }, { status: 401 }));
    await expect(refusing.client.read('/x')).rejects.toMatchObject({ status: 401, isOffline: false });
    expect(refusing.refused).toHaveBeenCalledOnce();
    const portal = clientFor(
      () => new Response('<h1>Log in</h1>', { headers: { 'content-type': 'text/html' } }),
    );
    await expect(portal.client.read('/x')).rejects.toMatchObject({ status: 200 });
    const proxy = clientFor(() => new Response('<h1>Bad gateway</h1>', { status: 502 }));
    await expect(proxy.client.read('/x')).rejects.toMatchObject({
      message: 'The server returned an unexpected answer with status 502.',
    });
  });
});

describe('the key of an action', () => {
  const problem = (status: number) => (): Response => Response.json({ code: 'x' }, { status });
  const accepted = (): Response => Response.json({ task_id: 't' }, { status: 202 });

  it.each([
    [
      'a lost answer',
      (): Response => {
        throw new TypeError('fetch failed');
      },
      true,
    ],
    ['an answer of a proxy', problem(504), true],
    ['a refusal', problem(409), false],
    ['an acceptance', accepted, false],
  ])('after %s', async (_name, first, isSame) => {
    const answers = [first, accepted];
    const { client, calls } = clientFor(() => (answers.shift() ?? accepted)());
    const body = '{"from_worker":true}';
    await client.control('/admin/control/localized-publish', body).catch(() => undefined);
    await client.control('/admin/control/localized-publish', body);
    await client.control('/admin/control/localized-publish', '{}');
    const [one, two, other] = calls.map(([, { headers }]) => new Headers(headers).get('idempotency-key'));
    expect(one).toMatch(/^[0-9a-f]{32}$/);
    expect(two === one).toBe(isSame);
    expect(other).not.toBe(two);
  });
});

describe('the token vault', () => {
  function storage(): Map<string, string> & Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> {
    const map = new Map<string, string>();
    return Object.assign(map, {
      getItem: (key: string) => map.get(key) ?? null,
      setItem: (key: string, value: string) => void map.set(key, value),
      removeItem: (key: string) => void map.delete(key),
    });
  }

  it('keeps the token only in memory, unless it should survive a reload', () => {
    const session = storage();
    const vault = createTokenVault(() => session);
    vault.set(TOKEN, false);
    expect([vault.get(), session.size]).toEqual([TOKEN, 0]);
    vault.set(TOKEN, true);
    expect(createTokenVault(() => session).get()).toBe(TOKEN);
    vault.forget();
    expect([vault.get(), session.size]).toEqual([null, 0]);
  });

  it('works without storage', () => {
    const vault = createTokenVault(() => {
      throw new Error('SecurityError');
    });
    vault.set(TOKEN, true);
    expect(vault.get()).toBe(TOKEN);
  });
});
