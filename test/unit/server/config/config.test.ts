import { describe, expect, it } from 'vitest';
import { serverConfigurationSchema } from '../../../../src/server/config/config.ts';

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
      listen: { host: '0.0.0.0', port: 8080 },
      metrics: { host: '0.0.0.0', port: 9090 },
      cdn: { host: 'prod-clientpatch.bluearchiveyostar.com', defaultChannel: 'official' },
      daemon: { url: 'http://127.0.0.1:8091', timeoutMs: 5000 },
      auth: { public: 'open' },
      cache: { blockBytes: 268_435_456 },
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
