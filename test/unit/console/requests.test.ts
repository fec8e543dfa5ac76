import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ApiFailure, createApiClient } from '../../../src/console/api/api-client.ts';
import { FeedPool } from '../../../src/console/api/feed-pool.ts';
import { createFeed, pauseAfterFailure } from '../../../src/console/api/live-feed.ts';
import { TokenVault } from '../../../src/console/api/token-vault.ts';
import { LazyContract } from '../../../src/console/shell/page.ts';
import { renderConsoleContract } from '../../../scripts/console/console-contract.ts';
import { until } from '../../support/until.ts';

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
    token: () => TOKEN,
    onUnauthorized: refused,
  });
  return { client, calls, refused };
}

describe('the client of the console', () => {
  describe('requests to the server', () => {
    it('sends the token only in the header, and cookies to its own server only', async () => {
      const { client, calls } = clientFor(() => Response.json({ ok: true }));
      await client.read('/admin/logs', { query: { tail: '5' } });
      await client.control('/admin/control/sync', '{}', 'k').catch(() => undefined);
      for (const [path, init] of calls) {
        expect(`${path} ${JSON.stringify(init.body)}`).not.toContain(TOKEN);
        expect(new Headers(init.headers).get('authorization')).toBe(`Bearer ${TOKEN}`);
        expect(init).toMatchObject({ credentials: 'same-origin', referrerPolicy: 'no-referrer' });
      }
      expect(calls[0]?.[0]).toBe('/admin/logs?tail=5');
    });

    it('keeps every digit of an answer', async () => {
      const { client } = clientFor(
        () =>
          new Response('{"id":-9180874206900030759}', { headers: { 'content-type': 'application/json' } }),
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

    it('asks again with the present token when a late refusal was for an older one', async () => {
      const refused = vi.fn();
      let token = 'first';
      const { promise, resolve } = Promise.withResolvers<Response>();
      const asked: (string | null)[] = [];
      const client = createApiClient({
        fetch: async (_path, init) => {
          asked.push(new Headers(init?.headers).get('authorization'));
          return asked.length === 1 ? await promise : Response.json({ ok: true });
        },
        token: () => token,
        onUnauthorized: refused,
      });
      const late = client.read('/x');
      token = 'second';
      resolve(Response.json({ code: 'not_authenticated' }, { status: 401 }));
      expect(await late).toEqual({ ok: true });
      expect(asked).toEqual(['Bearer first', 'Bearer second']);
      expect(refused).not.toHaveBeenCalled();
    });

    it('does no action of an older token under the present one', async () => {
      const refused = vi.fn();
      let token = 'first';
      const asked: (string | null)[] = [];
      const client = createApiClient({
        fetch: async (_path, init) => {
          asked.push(new Headers(init?.headers).get('authorization'));
          token = 'second';
          return await Promise.resolve(Response.json({ code: 'not_authenticated' }, { status: 401 }));
        },
        token: () => token,
        onUnauthorized: refused,
      });
      await expect(client.control('/x', '{}')).rejects.toMatchObject({ status: 401 });
      expect(asked).toEqual(['Bearer first']);
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

  // OAuth2 Proxy answers a request for JSON as the first one does, other proxies as the others.
  it.each([
    ['empty', () => Response.json({}, { status: 401 })],
    ['a page', () => new Response('<h1>Sign in</h1>', { status: 401 })],
    ['a redirect', () => Object.defineProperty(Response.error(), 'type', { value: 'opaqueredirect' })],
  ])('keeps the token when a proxy wants another sign-in: %s', async (_name, answer) => {
    const { client, calls, refused } = clientFor(answer);
    await expect(client.read('/x')).rejects.toMatchObject({ isSignedOut: true, isPassing: true });
    await expect(client.control('/x', '{}')).rejects.toThrow('sign in again');
    await client.control('/x', '{}').catch(() => undefined);
    const keys = calls.slice(1).map(([, init]) => new Headers(init.headers).get('idempotency-key'));
    expect(keys[1]).toBe(keys[0]);
    expect(calls.map(([, init]) => init.redirect)).toEqual(['manual', 'manual', 'manual']);
    expect(refused).not.toHaveBeenCalled();
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
    function storage(): Map<string, string> & Storage {
      const map = new Map<string, string>();
      return Object.assign(map, {
        getItem: (key: string) => map.get(key) ?? null,
        setItem: (key: string, value: string) => void map.set(key, value),
        removeItem: (key: string) => void map.delete(key),
      }) as Map<string, string> & Storage;
    }

    it('keeps the token only in memory, unless it should survive a reload', () => {
      const session = storage();
      const vault = new TokenVault(() => session);
      vault.set(TOKEN, false);
      expect([vault.get(), session.size]).toEqual([TOKEN, 0]);
      vault.set(TOKEN, true);
      expect(new TokenVault(() => session).get()).toBe(TOKEN);
      vault.forget();
      expect([vault.get(), session.size]).toEqual([null, 0]);
    });

    it('works without storage', () => {
      const vault = new TokenVault(() => {
        throw new Error('SecurityError');
      });
      vault.set(TOKEN, true);
      expect(vault.get()).toBe(TOKEN);
    });
  });
});

describe('a feed', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('polls at its pace while it gets answers, and ever more slowly while it does not', async () => {
    let isDown = false;
    let asked = 0;
    const feed = createFeed({
      load: async () => {
        asked += 1;
        if (isDown) throw new ApiFailure('down');
        return asked;
      },
      pauseAfter: () => 3000,
      onChange: () => undefined,
    });
    feed.start();
    await vi.advanceTimersByTimeAsync(6000);
    expect([asked, feed.state.value.value, feed.state.value.failure]).toEqual([3, 3, null]);
    isDown = true;
    await vi.advanceTimersByTimeAsync(3000 + 1000 + 2000 + 4000);
    expect(asked).toBe(7);
    expect(feed.state.value).toMatchObject({ value: 3, failure: { message: 'down' } });
    isDown = false;
    await vi.advanceTimersByTimeAsync(8000);
    expect(feed.state.value).toMatchObject({ value: 8, failure: null });
    feed.stop();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(asked).toBe(8);
    // A stopped feed announces no next request.
    expect(feed.state.value.nextAt).toBeNull();
  });

  it('waits at most half a minute, and as long as the server requests', () => {
    expect([1, 2, 3, 10].map((failures) => pauseAfterFailure(failures, null))).toEqual([
      1000, 2000, 4000, 30_000,
    ]);
    expect([pauseAfterFailure(1, 7), pauseAfterFailure(5, 0), pauseAfterFailure(1, 900)]).toEqual([
      7000, 1000, 30_000,
    ]);
  });

  it('ignores an answer that arrives after it was stopped', async () => {
    const answers: Array<(value: string) => void> = [];
    const changes = vi.fn();
    const feed = createFeed({
      load: async () => await new Promise<string>((resolve) => answers.push(resolve)),
      pauseAfter: () => 1000,
      onChange: changes,
    });
    feed.start();
    feed.refresh();
    answers[0]?.('old');
    answers[1]?.('new');
    await vi.advanceTimersByTimeAsync(0);
    expect([feed.state.value.value, changes.mock.calls.length]).toEqual(['new', 1]);
    feed.stop();
  });

  it('pauses while it is not needed and while the page is hidden', async () => {
    const asked: string[] = [];
    const pool = new FeedPool(() => undefined);
    const request = (key: string): Parameters<typeof pool.want>[0][number] => ({
      key,
      load: async () => asked.push(key),
      pauseAfter: () => 1000,
    });
    pool.want([request('a'), request('b:1')]);
    await vi.advanceTimersByTimeAsync(500);
    pool.want([request('a')]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(asked).toEqual(['a', 'b:1', 'a']);
    expect([pool.state('a').value, pool.state('b:1').value]).toEqual([3, null]);
    pool.setAwake(false);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(asked).toHaveLength(3);
    pool.setAwake(true);
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toHaveLength(4);
    pool.clear();
    expect(pool.state('a').value).toBe(null);
  });
});

describe('a pool of feeds', () => {
  it('asks for all feeds, or for the one of a key', async () => {
    const asked = { task: 0, status: 0 };
    const pool = new FeedPool(() => undefined);
    onTestFinished(() => pool.clear());
    const request = (key: keyof typeof asked) => ({
      key,
      pauseAfter: () => 3_600_000,
      load: async () => await Promise.resolve((asked[key] += 1)),
    });
    pool.want([request('task'), request('status')]);
    const untilAsked = async (task: number, status: number): Promise<void> => {
      await until(() => asked.task === task && asked.status === status);
    };
    await untilAsked(1, 1);
    pool.refresh('task');
    await untilAsked(2, 1);
    pool.refresh();
    await untilAsked(3, 2);
  });
});

const CONTRACT = renderConsoleContract();

describe('the contract of a page', () => {
  it('is loaded once, when it is first needed, and has everything', async () => {
    let loads = 0;
    const lazy = new LazyContract(async () => {
      loads += 1;
      return await Promise.resolve(CONTRACT);
    });
    expect([lazy.value(), loads]).toEqual([null, 0]);
    const [first, second] = await Promise.all([lazy.load(), lazy.load()]);
    expect(first).toEqual(CONTRACT);
    expect([second === first, lazy.value() === first, loads]).toEqual([true, true, 1]);
  });

  it('is asked for again after a load that failed', async () => {
    let loads = 0;
    const lazy = new LazyContract(async () => {
      loads += 1;
      if (loads === 1) throw new Error('no answer');
      return await Promise.resolve(CONTRACT);
    });
    await expect(lazy.load()).rejects.toThrow('no answer');
    expect(lazy.value()).toBeNull();
    expect(await lazy.load()).toEqual(CONTRACT);
  });
});
