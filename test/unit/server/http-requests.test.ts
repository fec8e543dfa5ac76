import { EventEmitter, once } from 'node:events';
import { request, type ServerResponse } from 'node:http';
import { Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLogger } from '../../../src/platform/logging/logging.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { EXTENT_BYTES } from '../../../src/server/bytes/extents.ts';
import { serverConfigurationSchema } from '../../../src/server/config/config.ts';
import { goneSignal } from '../../../src/server/http/exchange.ts';
import {
  createRequestObserver,
  createRequestRecorder,
  type FinishedRequest,
} from '../../../src/server/http/observe-request.ts';
import { splitTarget, withPlainHost } from '../../../src/server/http/request-target.ts';
import { TokenAllowance } from '../../../src/server/http/token-limits.ts';
import { createServerMetrics } from '../../../src/server/metrics.ts';
import { createObjectSource } from '../../../src/snapshot/objects/object-source.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { CDN_HOST, patternBytes, serveFiles, startCdn } from '../../support/cdn-fixture.ts';
import { startFronted } from '../../support/fast-path-fixture.ts';
import { openSocket } from '../../support/raw-http.ts';
import { startTestServer, type TestServer } from '../../support/start-test-server.ts';
import { writeTokenFile } from '../../support/token-file.ts';
import { until } from '../../support/until.ts';

const FILE = 'a.bundle';

/** A server of one file of three extents that sends none from a given one on. */
async function startStalling({ fast, from }: { readonly fast: boolean; readonly from: number }) {
  const held = Promise.withResolvers<void>();
  const cdn = await startCdn({
    source: (root) => {
      const source = createObjectSource(root);
      return {
        ...source,
        read: async (fd, start, memory) => {
          if (start >= from) await held.promise;
          return await source.read(fd, start, memory);
        },
      };
    },
  });
  onTestFinished(() => {
    held.resolve();
  });
  await serveFiles(cdn, { [FILE]: patternBytes(3 * EXTENT_BYTES) });
  const server = await startFronted(cdn, { fast });
  const ended = server.fast;
  if (!fast) {
    const observe = createRequestObserver(
      (finished: FinishedRequest) => void ended.push(finished),
      systemClock,
    );
    server.server.prependListener('request', (request, response) => {
      observe({ request, response, route: 'bytes', requestId: 'id' });
    });
  }
  return { cdn, server, ended };
}

/** The line and the series that a request leaves. */
async function record(
  finished: FinishedRequest,
): Promise<{ readonly line: object; readonly metrics: string }> {
  const registry = new Registry();
  const lines: string[] = [];
  createRequestRecorder({
    logger: createLogger({ name: 'test', level: 'info', destination: { write: (line) => lines.push(line) } }),
    metrics: createServerMetrics(registry),
    access: 'all',
    busyRoutes: new Set(),
  })(finished);
  return { line: JSON.parse(lines[0] ?? '{}') as object, metrics: await registry.metrics() };
}

describe('aborted requests', () => {
  describe.each([
    ['the fast path', true],
    ['the full server', false],
  ])('a client that leaves, on %s', (_name, fast) => {
    it('before any byte of the answer, is logged as aborted without a status', async () => {
      const { cdn, server, ended } = await startStalling({ fast, from: 0 });
      const socket = await openSocket(server.port);
      socket.write(`GET /${CDN_HOST}/${FILE} HTTP/1.1\r\nHost: h\r\n\r\n`);
      await until(() => cdn.reads.length > 0);
      socket.destroy();
      const finished = await until(() => ended[0]);
      const { line, metrics } = await record(finished);
      expect(line).toMatchObject({ route: 'bytes', outcome: 'aborted', status: null, bytes: 0 });
      expect(metrics).toContain('slipway_http_requests_total{route="bytes",method="GET",status="none"} 1');
      expect(server.fullRequests()).toBe(fast ? 0 : 1);
    });

    it('after a part of the bytes, is logged as aborted with the status and the bytes that it got', async () => {
      const { server, ended } = await startStalling({ fast, from: EXTENT_BYTES });
      const socket = await openSocket(server.port);
      socket.write(`GET /${CDN_HOST}/${FILE} HTTP/1.1\r\nHost: h\r\n\r\n`);
      await once(socket, 'data');
      socket.destroy();
      const finished = await until(() => ended[0]);
      const { line, metrics } = await record(finished);
      expect(line).toMatchObject({ route: 'bytes', outcome: 'aborted', status: 200 });
      expect(finished.bytes).toBeGreaterThan(0);
      expect(finished.bytes).toBeLessThan(3 * EXTENT_BYTES);
      expect(metrics).toContain('slipway_http_requests_total{route="bytes",method="GET",status="200"} 1');
      expect(server.fullRequests()).toBe(fast ? 0 : 1);
    });
  });
});

const PAGE = 'https://play.example.org';

/** The CORS fields of a response; of `Vary` only that it names the origin. */
async function corsOf(
  { url }: TestServer,
  path: string,
  headers: Readonly<Record<string, string>> = { origin: PAGE },
  method = 'GET',
): Promise<Record<string, string>> {
  // fetch of Node sends and shows these fields as they are.
  const answer = await fetch(url + path, { method, headers });
  await answer.arrayBuffer();
  return Object.fromEntries(
    [...answer.headers].flatMap(([name, value]) => {
      if (name === 'vary') return value.split(', ').includes('Origin') ? [[name, 'Origin']] : [];
      return name.startsWith('access-control-') ? [[name, value]] : [];
    }),
  );
}

describe('pages of other origins', () => {
  const CDN_HOST = 'cdn.example';
  const READS = [
    `/${CDN_HOST}/a.bin`,
    `/${CDN_HOST}/none.bin`,
    '/v1/resources',
    '/v1/resources?limit=0',
    '/v1/no',
  ];

  async function start(fast: boolean, origins?: readonly string[]): Promise<TestServer> {
    const server = await startTestServer({
      fast,
      refresh: false,
      config: { cdn: { host: CDN_HOST }, ...(origins === undefined ? {} : { cors: { origins } }) },
    });
    const official = await server.store.addRelease({
      releaseId: 'r1',
      files: { 'a.bin': Buffer.from('abc') },
    });
    const issuedAt = Math.floor(Date.now() / 1000);
    server.daemon.setEnvelope(server.store.attest({ version: 1, issuedAt, lifetime: 3600, official }));
    server.parts.room.refresher.start();
    await until(() => server.parts.room.serving.verdict('official').distributable);
    return server;
  }

  describe.each([
    ['full server', false],
    ['fast path', true],
  ])('reads by pages of other origins (%s)', (_name, fast) => {
    const exposed = { 'access-control-expose-headers': expect.stringContaining('Content-Range') as string };

    it('are allowed for all by default, with the same fields for every request', async () => {
      const server = await start(fast);
      const all = { 'access-control-allow-origin': '*', ...exposed };
      for (const path of READS) {
        expect([path, await corsOf(server, path)]).toEqual([path, all]);
        expect(await corsOf(server, path, {})).toEqual(all);
        expect(await corsOf(server, path, { origin: PAGE }, 'HEAD')).toEqual(all);
      }
      const etag = (await fetch(`${server.url}${READS[0]}`)).headers.get('etag') ?? '';
      expect(await corsOf(server, READS[0]!, { 'if-none-match': etag })).toEqual(all);
    });

    it('may be asked for with a preflight', async () => {
      const server = await start(fast);
      for (const path of READS.slice(0, 3)) {
        const preflight = {
          origin: PAGE,
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'if-range,range',
        };
        expect(await corsOf(server, path, preflight, 'OPTIONS')).toEqual({
          'access-control-allow-origin': '*',
          ...exposed,
          'access-control-allow-methods': 'GET, HEAD',
          'access-control-allow-headers': expect.stringMatching(
            /^Range, If-Range,.* Authorization,/,
          ) as string,
          'access-control-max-age': '86400',
        });
      }
    });

    it('never cover the admin surface, the console and the probes, and never allow credentials', async () => {
      const server = await start(fast);
      for (const path of [
        '/admin/tasks',
        '/admin/control/sync',
        '/admin/dashboard/',
        '/healthz',
        '/readyz',
        '/',
      ]) {
        expect([path, await corsOf(server, path)]).toEqual([path, {}]);
        expect([path, await corsOf(server, path, { origin: PAGE }, 'OPTIONS')]).toEqual([path, {}]);
      }
    });

    it('are allowed for the listed origins only', async () => {
      const server = await start(fast, [PAGE]);
      for (const path of READS) {
        const listed = { vary: 'Origin', 'access-control-allow-origin': PAGE, ...exposed };
        // One connection for all, so that the fast path sees requests with and without an origin.
        expect([path, await corsOf(server, path, {})]).toEqual([path, { vary: 'Origin' }]);
        expect([path, await corsOf(server, path)]).toEqual([path, listed]);
        for (const origin of ['https://other.example.org', `${PAGE}.evil.example`, 'null']) {
          expect([origin, await corsOf(server, path, { origin })]).toEqual([origin, { vary: 'Origin' }]);
          expect(await corsOf(server, path, { origin }, 'OPTIONS')).toEqual({ vary: 'Origin' });
        }
      }
    });

    it('are not allowed with an empty list', async () => {
      const server = await start(fast, []);
      for (const path of READS) expect(await corsOf(server, path)).toEqual({});
    });
  });

  it.each([
    'https://play.example.org/',
    'play.example.org',
    'https://*.example.org',
    'null',
    'https://A.example',
  ])('cors.origins does not take %s', (origin) => {
    const config = {
      publicBaseUrl: 'https://r.example.org',
      snapshot: { root: '/x' },
      attestation: { publicKeyFiles: ['x.pub'] },
      cors: { origins: [origin] },
    };
    const parsed = serverConfigurationSchema.safeParse(config);
    expect(parsed.error?.issues.map(({ path }) => path.join('.'))).toEqual(['cors.origins.0']);
  });
});

function plainText(target: string): string | undefined {
  const split = splitTarget(target);
  if (split === null) return undefined;
  const { path, query, text } = withPlainHost(split, 'cdn.example');
  expect(text).toBe(query === '' && !text.includes('?') ? path : `${path}?${query}`);
  return text;
}

describe('the target of a request', () => {
  it.each([
    ['/cdn%2eexample/a%2eb?c=%2e', '/cdn.example/a%2eb?c=%2e'],
    ['/cdn%2Eexample/', '/cdn.example/'],
    ['/%63dn.example', '/cdn.example'],
    ['http://other/cdn%2eexample/a?', '/cdn.example/a?'],
    // Decoded once, and only as a whole segment.
    ['/cdn%252eexample/a', '/cdn%252eexample/a'],
    ['/cdn%2eexample%2fa', '/cdn%2eexample%2fa'],
    ['/cdn%2eexample%2/a', '/cdn%2eexample%2/a'],
    ['/CDN%2eexample/a', '/CDN%2eexample/a'],
    ['/v1%2f/a', '/v1%2f/a'],
    ['//cdn%2eexample/a', '//cdn%2eexample/a'],
    ['/', '/'],
    ['*', '*'],
  ])('reads the CDN host of %s as %s', (target, expected) => {
    expect(plainText(target)).toBe(expected);
  });
});

/** Asks `count` times at one instant. @returns the number that was admitted, and the wait of the last one */
function ask(allowance: TokenAllowance, now: number, count: number): readonly [number, number | null] {
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

describe('limited tokens', () => {
  describe('the allowance of a token', () => {
    it('admits a burst, then as many requests as its rate, and never more than the burst after a pause', () => {
      const allowance = new TokenAllowance({ requestsPerSecond: 2, burst: 5 });
      expect(ask(allowance, 1000, 8)).toEqual([5, 1]);
      expect(ask(allowance, 1499, 1)).toEqual([0, 1]);
      expect(ask(allowance, 1500, 2)).toEqual([1, 1]);
      expect(ask(allowance, 3000, 9)).toEqual([3, 1]);
      expect(ask(allowance, 1_000_000, 9)).toEqual([5, 1]);
    });

    it('has by default the burst of one second, and tells how long a slow rate takes', () => {
      expect(ask(new TokenAllowance({ requestsPerSecond: 10 }), 0, 20)).toEqual([10, 1]);
      expect(ask(new TokenAllowance({ requestsPerSecond: 0.1 }), 0, 2)).toEqual([1, 10]);
      expect(ask(new TokenAllowance({}), 0, 1000)).toEqual([1000, null]);
    });

    it('counts requests until their answers have ended', () => {
      const allowance = new TokenAllowance({ concurrentRequests: 2 });
      const end = allowance.admit(0);
      allowance.admit(0);
      expect(allowance.refusal(0)).toEqual({ limit: 'concurrency', retryAfter: 1 });
      end();
      expect(allowance.refusal(0)).toBeNull();
    });
  });

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
});

describe('the signal of a client that is gone', () => {
  const client = (state: object): ServerResponse => Object.assign(new EventEmitter(), state) as never;

  it('is aborted at once when the client left before anybody asked', () => {
    expect(goneSignal(client({ closed: true, writableFinished: false })).aborted).toBe(true);
    expect(goneSignal(client({ closed: true, writableFinished: true })).aborted).toBe(false);
  });

  it('is aborted when the client leaves before its answer is complete', () => {
    const response = client({ closed: false, writableFinished: false });
    const gone = goneSignal(response);
    expect(gone.aborted).toBe(false);
    response.emit('close');
    expect(gone.aborted).toBe(true);
  });
});
