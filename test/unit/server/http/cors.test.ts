import { describe, expect, it } from 'vitest';
import { serverConfigurationSchema } from '../../../../src/server/config/config.ts';
import { startTestServer, type TestServer } from '../../../support/start-test-server.ts';
import { until } from '../../../support/until.ts';

const PAGE = 'https://play.example.org';
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
  const official = await server.store.addRelease({ releaseId: 'r1', files: { 'a.bin': Buffer.from('abc') } });
  const issuedAt = Math.floor(Date.now() / 1000);
  server.daemon.setEnvelope(server.store.attest({ version: 1, issuedAt, lifetime: 3600, official }));
  server.parts.room.refresher.start();
  await until(() => server.parts.room.serving.verdict('official').distributable);
  return server;
}

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
        'access-control-allow-headers': expect.stringMatching(/^Range, If-Range,.* Authorization,/) as string,
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
