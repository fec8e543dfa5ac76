import { describe, expect, it } from 'vitest';
import { listOperations } from '../../../src/contract/operations/operations.ts';
import type { Problem } from '../../../src/contract/problems/problem-schema.ts';
import { serverConfigurationSchema } from '../../../src/server/config/config.ts';
import { startAdminServer } from '../../support/admin-client.ts';
import { readMetrics } from '../../support/metric-series.ts';
import { createScrubMetrics } from '../../../src/server/scrub/scrub-metrics.ts';
import { startTestServer } from '../../support/start-test-server.ts';

const required = {
  publicBaseUrl: 'https://resources.example.org',
  snapshot: { root: '/snapshot' },
  attestation: { publicKeyFiles: ['/keys/signing.pub'] },
};

/** The names of the settings that are refused. */
function refused(change: Readonly<Record<string, unknown>>): string[] {
  const result = serverConfigurationSchema.safeParse({ ...required, ...change });
  return result.success ? [] : result.error.issues.map(({ path }) => path.join('.'));
}

describe('serverConfigurationSchema', () => {
  it('fills in the documented defaults', () => {
    expect(serverConfigurationSchema.parse(required)).toMatchObject({
      listen: { host: '::', port: 8080 },
      metrics: { host: '::', port: 9090 },
      cdn: { host: 'prod-clientpatch.bluearchiveyostar.com', defaultChannel: 'official' },
      daemon: { url: 'http://127.0.0.1:8091', timeoutMs: 5000 },
      auth: { public: 'open' },
      cache: { blockBytes: 536_870_912 },
      limits: {
        maxConnections: 8192,
        maxConnectionsPerAddress: 0,
        headersTimeoutMs: 10_000,
        maxHeaderBytes: 16_384,
      },
      shutdown: { propagationDelaySeconds: 5, drainSeconds: 30 },
    });
  });

  it('refuses a burst of a token without the rate that it belongs to', () => {
    const withLimits = (limits: object): Record<string, unknown> => ({
      auth: { tokens: [{ file: '/token', id: 'edges', limits }] },
    });
    expect(refused(withLimits({ burst: 5, concurrentRequests: 2 }))).toEqual(['auth.tokens.0.limits.burst']);
    expect(refused(withLimits({ burst: 5, requestsPerSecond: 2 }))).toEqual([]);
    expect(refused(withLimits({ concurrentRequests: 2 }))).toEqual([]);
  });

  it('names every required setting', () => {
    const result = serverConfigurationSchema.safeParse({});
    expect(result.error?.issues.map(({ path }) => path.join('.')).sort()).toEqual([
      'attestation',
      'publicBaseUrl',
      'snapshot',
    ]);
  });

  it.each([
    'resources.example.org',
    'ftp://resources.example.org',
    'https://resources.example.org/',
    'https://resources.example.org/path',
    'https://resources.example.org?x',
    'https://resources.example.org#x',
    'https://user:secret@resources.example.org',
  ])('refuses the public base URL %s', (publicBaseUrl) => {
    expect(refused({ publicBaseUrl })).toEqual(['publicBaseUrl']);
  });

  it.each(['http://127.0.0.1:8080', 'https://resources.example.org', 'http://[::1]:80'])(
    'accepts the public base URL %s',
    (publicBaseUrl) => {
      expect(refused({ publicBaseUrl })).toEqual([]);
    },
  );

  it.each([
    'http://10.0.0.1:8091',
    'https://127.0.0.1:8091',
    'http://127.0.0.1:8091/path',
    'http://daemon:8091',
    'http://127.evil.example',
  ])('refuses a daemon that is not on loopback: %s', (url) => {
    expect(refused({ daemon: { url } })).toEqual(['daemon.url']);
  });

  it.each(['a/b', 'Host', 'v1', 'healthz', '', '..'])('refuses the CDN host %j', (host) => {
    expect(refused({ cdn: { host } })).toContain('cdn.host');
  });

  it.each([
    '[',
    '{a,b',
    'a)',
    '',
    '/TableBundles/**',
    '!TableBundles/**',
    '!(Windows)_PatchPack/**',
    'x'.repeat(513),
  ])('refuses the glob %j', (glob) => {
    expect(refused({ launcher: { include: ['**', glob] } })).toEqual(['launcher.include.1']);
    expect(refused({ launcher: { exclude: [glob] } })).toEqual(['launcher.exclude.0']);
  });

  it.each(['**', '{Android,iOS}_PatchPack/**', '*/catalog_[A-Z]*.zip', '\\[x\\]'])(
    'accepts the glob %j',
    (glob) => {
      expect(refused({ launcher: { include: [glob], exclude: [glob] } })).toEqual([]);
    },
  );

  it.each([
    ['6.5GB', true],
    ['500 MB', true],
    ['6000000000', false],
    ['6.5', false],
    ['6,5GB', false],
    ['6GiB', false],
  ])('takes the size %s: %s', (decompressionSize, taken) => {
    expect(refused({ launcher: { decompressionSize } })).toEqual(taken ? [] : ['launcher.decompressionSize']);
  });

  it.each([
    'wiki.example.org/books',
    'javascript:alert(1)',
    'https://user:secret@wiki.example.org/books',
    'https://wiki.example.org/books?page=',
    'https://wiki.example.org/books#',
  ])('refuses the address of runbooks %s', (url) => {
    expect(refused({ runbooks: { url } })).toEqual(['runbooks.url']);
  });

  it.each([
    ['https://wiki.example.org/books', 'https://wiki.example.org/books/'],
    ['http://wiki:8080/@team/books/', 'http://wiki:8080/@team/books/'],
    ['https://wiki.example.org', 'https://wiki.example.org/'],
  ])('takes the address of runbooks %s as a folder', (url, folder) => {
    expect(serverConfigurationSchema.parse({ ...required, runbooks: { url } }).runbooks).toEqual({
      url: folder,
    });
  });

  it('refuses unknown settings', () => {
    expect(refused({ listen: { prot: 1 } })).toEqual(['listen']);
  });
});

const CDN_FILE = '/prod-clientpatch.bluearchiveyostar.com/film.mp4';

describe('runbooks.url', () => {
  it('is where problems of every surface and the console find a copy of the runbooks', async () => {
    // Nothing is served yet, and no daemon answers, so each of these problems has a reason.
    const server = await startAdminServer({
      config: { runbooks: { url: 'https://wiki.example.org/books' } },
      daemonUrl: 'http://127.0.0.1:1',
    });
    for (const path of ['/v1/distribution', CDN_FILE, '/admin/tasks']) {
      const { reason, documentation } = (await (await server.ask(path)).json()) as Problem;
      expect([path, reason]).toEqual([path, expect.any(String)]);
      expect([path, documentation]).toEqual([path, `https://wiki.example.org/books/${reason}.md`]);
    }
    const outline = await server.ask('/admin/dashboard/outline.json');
    expect(await outline.json()).toMatchObject({ runbooks: 'https://wiki.example.org/books/' });
  });

  it.each([
    [{}, null, '/admin/dashboard/runbooks/'],
    [
      { runbooks: { url: 'https://mirror.example.org/admin/dashboard/runbooks' } },
      'https://mirror.example.org/admin/dashboard/runbooks/',
      'https://mirror.example.org/admin/dashboard/runbooks/',
    ],
  ])(
    '%j: public problems link to no page of this server, admin ones to pages without ending',
    async (config, open, admin) => {
      const server = await startAdminServer({ config, daemonUrl: 'http://127.0.0.1:1' });
      for (const path of ['/v1/distribution', CDN_FILE, '/admin/tasks']) {
        const { reason, documentation } = (await (await server.ask(path)).json()) as Problem;
        const base = path === '/admin/tasks' ? admin : open;
        expect([path, documentation]).toEqual([path, base === null ? undefined : `${base}${reason}`]);
      }
    },
  );
});

describe('the metrics of a server', () => {
  it('a server that nobody has asked has every counter at 0, each operation with the statuses that it declares', async () => {
    const { registry } = await startTestServer({ refresh: false });
    const text = await registry.metrics();
    const lines = new Set(text.split('\n'));
    for (const { method, path, answers } of listOperations()) {
      for (const status of [...Object.keys(answers), '500']) {
        const labels = `route="${path}",method="${method.toUpperCase()}",status="${status}"`;
        expect(lines).toContain(`slipway_http_requests_total{${labels}} 0`);
      }
    }
    expect(lines).toContain('slipway_cdn_responses_total{channel="official",status="503"} 0');
    expect(lines).toContain('slipway_cdn_responses_total{channel="none",status="500"} 0');
    // The byte path never sees a request that its token does not admit.
    expect(text).not.toMatch(/^slipway_cdn_responses_total\{.*status="(401|429)"/mu);
    expect(lines).toContain(
      'slipway_admin_forward_duration_seconds_count{report="control",outcome="unavailable"} 0',
    );
    const declared = [...text.matchAll(/^# TYPE (slipway_\S+) counter$/gmu)].map(([, name = '']) => name);
    const metrics = readMetrics(text);
    expect(declared.length).toBeGreaterThan(10);
    // No token of this server has limits.
    expect(declared.filter((name) => !metrics.has(name))).toEqual(['slipway_token_limited_requests_total']);
    expect(metrics.get('slipway_http_requests_total')?.series).toBeLessThan(250);
  });

  it('has no sample of what is not known yet, where 0 would be the year 1970', async () => {
    const { registry } = await startTestServer({ refresh: false });
    createScrubMetrics(registry, { count: () => 0 });
    const text = await registry.metrics();
    for (const name of [
      'slipway_attestation_expires_in_seconds',
      'slipway_attestation_expires_timestamp_seconds',
      'slipway_scrub_completed_timestamp_seconds',
    ]) {
      expect(text).toContain(`# TYPE ${name} gauge`);
      expect(text).not.toMatch(new RegExp(`^${name} `, 'm'));
    }
  });

  it('the first failure of a route is an increase, and adds no series', async () => {
    const { registry, url } = await startTestServer({ refresh: false });
    const before = readMetrics(await registry.metrics()).get('slipway_http_requests_total');
    expect((await fetch(`${url}/v1/bootstrap`)).status).toBe(503);
    const text = await registry.metrics();
    expect(text).toContain('slipway_http_requests_total{route="/v1/bootstrap",method="GET",status="503"} 1');
    expect(readMetrics(text).get('slipway_http_requests_total')?.series).toBe(before?.series);
  });
});
