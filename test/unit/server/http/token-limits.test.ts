import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createTokenAllowance } from '../../../../src/server/http/token-limits.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { startTestServer, type TestServer } from '../../../support/start-test-server.ts';
import { writeTokenFile } from '../../../support/token-file.ts';
import { until } from '../../../support/until.ts';

/** Asks `count` times at one instant. @returns the number that was admitted, and the wait of the last one */
function ask(
  allowance: ReturnType<typeof createTokenAllowance>,
  now: number,
  count: number,
): readonly [number, number | null] {
  let admitted = 0;
  let wait: number | null = null;
  for (let at = 0; at < count; at += 1) {
    const refusal = allowance.refusal(now);
    wait = refusal?.retryAfter ?? null;
    if (refusal !== null) continue;
    admitted += 1;
    allowance.admit(now);
  }
  return [admitted, wait];
}

describe('the allowance of a token', () => {
  it('admits a burst, then as many requests as its rate, and never more than the burst after a pause', () => {
    const allowance = createTokenAllowance({ requestsPerSecond: 2, burst: 5 });
    expect(ask(allowance, 1000, 8)).toEqual([5, 1]);
    expect(ask(allowance, 1499, 1)).toEqual([0, 1]);
    expect(ask(allowance, 1500, 2)).toEqual([1, 1]);
    expect(ask(allowance, 3000, 9)).toEqual([3, 1]);
    expect(ask(allowance, 1_000_000, 9)).toEqual([5, 1]);
  });

  it('has by default the burst of one second, and tells how long a slow rate takes', () => {
    expect(ask(createTokenAllowance({ requestsPerSecond: 10 }), 0, 20)).toEqual([10, 1]);
    expect(ask(createTokenAllowance({ requestsPerSecond: 0.1 }), 0, 2)).toEqual([1, 10]);
    expect(ask(createTokenAllowance({}), 0, 1000)).toEqual([1000, null]);
  });

  it('counts requests until their answers have ended', () => {
    const allowance = createTokenAllowance({ concurrentRequests: 2 });
    const end = allowance.admit(0);
    allowance.admit(0);
    expect(allowance.refusal(0)).toEqual({ limit: 'concurrency', retryAfter: 1 });
    end();
    expect(allowance.refusal(0)).toBeNull();
  });
});

const HEADERS = { authorization: 'Bearer token-of-an-edge' };
const LARGE = 'Movie/Large.mp4';

async function startLimited(limits: object, clock: FakeClock): Promise<TestServer> {
  const server = await startTestServer({
    clock,
    refresh: false,
    config: {
      auth: {
        public: 'token',
        tokens: [
          { file: await writeTokenFile('token-of-an-edge'), id: 'edge', limits },
          { file: await writeTokenFile('token-of-another'), id: 'another' },
        ],
      },
      cdn: { host: 'cdn.test.invalid' },
    },
  });
  const files = { [LARGE]: Buffer.alloc(24 * 1024 * 1024, 1) };
  const official = await server.store.addRelease({ releaseId: 'r1', files });
  const issuedAt = Math.floor(clock.now() / 1000);
  server.daemon.setEnvelope(server.store.attest({ version: 1, issuedAt, official }));
  server.parts.room.refresher.start();
  await until(() => server.parts.room.serving.verdict('official').distributable, 30_000);
  return server;
}

async function limited({ registry }: TestServer, limit: string): Promise<number | undefined> {
  const metric = registry.getSingleMetric('slipway_token_limited_requests_total');
  const { values = [] } = (await metric?.get()) ?? {};
  return values.find(({ labels }) => labels['token'] === 'edge' && labels['limit'] === limit)?.value;
}

describe('a token with limits', () => {
  it('gets 429 with the time to wait on public and admin routes, while other tokens and probes do not', async () => {
    const clock = new FakeClock(Math.floor(Date.now() / 1000) * 1000);
    const server = await startLimited({ requestsPerSecond: 0.25, burst: 2 }, clock);
    const status = async (path: string, headers: Record<string, string> = HEADERS): Promise<number> =>
      (await fetch(`${server.url}${path}`, { headers })).status;
    expect([await status('/v1/release'), await status('/admin/')]).toEqual([200, 200]);
    const refused = await fetch(`${server.url}/v1/release`, { headers: HEADERS });
    expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
      429,
      '4',
      expect.objectContaining({ code: 'too_many_requests', status: 429 }),
    ]);
    expect([await status('/admin/'), await status(`/cdn.test.invalid/r1/${LARGE}`)]).toEqual([429, 429]);
    expect(await limited(server, 'rate')).toBe(3);
    expect(await status('/v1/release', { authorization: 'Bearer token-of-another' })).toBe(200);
    expect([await status('/readyz', {}), await status('/v1/release', {})]).toEqual([200, 401]);
    await clock.advance(4000);
    expect([await status('/v1/release'), await status('/v1/release')]).toEqual([200, 429]);
  });

  it('gets 429 while as many downloads as it may have are in progress, until one ends or is aborted', async () => {
    const clock = new FakeClock(Math.floor(Date.now() / 1000) * 1000);
    const server = await startLimited({ concurrentRequests: 1 }, clock);
    const url = `${server.url}/cdn.test.invalid/r1/${LARGE}`;
    const download = request(url, { headers: HEADERS });
    download.on('error', () => undefined);
    download.end();
    // Its body is not read, so the answer does not end.
    await once(download, 'response');
    expect((await fetch(`${server.url}/v1/release`, { headers: HEADERS })).status).toBe(429);
    expect(await limited(server, 'concurrency')).toBe(1);
    download.destroy();
    await until(async () => (await fetch(`${server.url}/v1/release`, { headers: HEADERS })).status === 200);
    const whole = await fetch(url, { headers: HEADERS });
    expect((await whole.arrayBuffer()).byteLength).toBe(24 * 1024 * 1024);
    await until(async () => (await fetch(`${server.url}/v1/release`, { headers: HEADERS })).status === 200);
  });
});
