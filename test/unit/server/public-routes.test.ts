import { writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { OperationDefinition } from '../../../src/contract/operations/operation-definition.ts';
import { PUBLIC_OPERATIONS } from '../../../src/contract/operations/operations-public.ts';
import { ProblemSchema, type Problem } from '../../../src/contract/problems/problem-schema.ts';
import type { Distribution } from '../../../src/contract/schemas/answers/distribution.ts';
import type { Health } from '../../../src/contract/schemas/answers/health.ts';
import { RELEASE_ROW_EXAMPLE } from '../../../scripts/reference/example-answers.ts';
import type { AttestedRelease } from '../../../src/domain/verdict/attestation.ts';
import type { ManifestEntry } from '../../../src/domain/release/manifest.ts';
import { noFailpoints } from '../../../src/platform/files/failpoints.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { createDifferences } from '../../../src/server/public/distribution/differences.ts';
import type { ManifestIndex } from '../../../src/snapshot/manifest/manifest-index.ts';
import { loadManifest } from '../../../src/snapshot/manifest/manifest-loader.ts';
import { openWriterAt } from '../../support/open-writer.ts';
import { sampleEntry, sampleHeader, sortEntries } from '../../support/sample-entries.ts';
import { startTestServer, type TestServer } from '../../support/start-test-server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const CDN_HOST = 'prod-clientpatch.bluearchiveyostar.com';
const FILES = {
  'TableBundles/Excel.zip': 'excel bytes',
  'TableBundles/ExcelDB.db': 'database bytes',
  'Media/音声.zip': Buffer.alloc(1024 * 1024 + 5, 7),
  empty: '',
};
const SERVER_INFO =
  '{"ConnectionGroups":[{"OverrideConnectionGroups":[{"Name":"1.0","AddressablesCatalogUrlRoot":"https://x.example/a"}]}]}';

const now = (): number => Math.floor(Date.now() / 1000);

/** A server whose official release is distributable. */
async function ready(
  config: Readonly<Record<string, unknown>> = {},
): Promise<TestServer & { readonly official: AttestedRelease }> {
  const server = await startTestServer({ config, refresh: false });
  const official = await server.store.addRelease({
    releaseId: '1.66.405117',
    files: FILES,
    document: SERVER_INFO,
    appVersion: '1.66.405117',
  });
  server.daemon.setEnvelope(server.store.attest({ version: 1, issuedAt: now(), official }));
  server.parts.room.refresher.start();
  await until(() => {
    const { distributable, message } = server.parts.room.serving.verdict('official');
    if (!distributable) throw new Error(`${message}\n${server.log.join('')}`);
    return true;
  }, 5_000);
  return { ...server, official };
}

const SIGNAL = new AbortController().signal;

async function indexOf(entries: readonly ManifestEntry[]): Promise<ManifestIndex> {
  const root = await temporaryDirectory();
  const writer = await openWriterAt({ root, failpoints: noFailpoints, clock: systemClock });
  const sorted = sortEntries(entries);
  const { snapshotId } = await writer.writeManifest('t', sampleHeader(sorted), sorted);
  return (await loadManifest({ root, snapshotId, checkObjects: false })).index;
}

/** Requests a path and checks the answer against the contract of its operation. */
async function ask(
  server: TestServer,
  operation: keyof typeof PUBLIC_OPERATIONS,
  query = '',
): Promise<{ status: number; body: never; headers: Headers }> {
  const definition: OperationDefinition = PUBLIC_OPERATIONS[operation];
  const response = await fetch(`${server.url}${definition.path}${query}`);
  const answer = definition.answers[response.status];
  expect(answer, `${definition.path} answered ${response.status}`).toBeDefined();
  const body: unknown = await response.json();
  if (answer?.kind === 'json') answer.answer.schema.parse(body);
  if (answer?.kind === 'problem') {
    expect(answer.codes).toContain(ProblemSchema.parse(body).code);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
  }
  return { status: response.status, body: body as never, headers: response.headers };
}

describe('the public routes of a distributable release', () => {
  it('compress pages of the manifest for clients that take it, and say that the answer depends on that', async () => {
    const page = 'https://page.example';
    const server = await ready({ cors: { origins: [page] } });
    const read = async (path: string, coding: string, method = 'GET'): Promise<IncomingMessage> => {
      const headers = { 'accept-encoding': coding, origin: page };
      const asked = httpRequest(`${server.url}${path}`, { method, headers, agent: false });
      asked.end();
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      return answer;
    };
    for (const path of ['/v1/distribution', '/v1/resources']) {
      const plain = await read(path, 'identity');
      expect([plain.headers['content-encoding'], plain.headers.vary]).toEqual([
        undefined,
        'Origin, Accept-Encoding',
      ]);
      const text = await buffer(plain);
      for (const [coding, decompress] of Object.entries({ zstd: zstdDecompressSync, gzip: gunzipSync })) {
        const answer = await read(path, coding);
        expect([answer.headers['content-encoding'], answer.headers.vary]).toEqual([
          coding,
          plain.headers.vary,
        ]);
        const bytes = await buffer(answer);
        expect(decompress(bytes).equals(text)).toBe(true);
        expect(bytes.length).toBeLessThan(text.length);
        expect(answer.headers['content-length']).toBe(String(bytes.length));
        const head = await read(path, coding, 'HEAD');
        head.resume();
        expect(head.headers['content-length']).toBe(answer.headers['content-length']);
      }
    }
    const small = await read('/v1/release', 'gzip, zstd');
    expect([small.headers['content-encoding'], small.headers.vary]).toEqual([undefined, 'Origin']);
    small.resume();
  });

  it('all answer as the contract says', async () => {
    const server = await ready();
    server.daemon.setReport('release.list', {
      report: 'release.list',
      generated_at: 1,
      daemon: {},
      total: 1,
      releases: [RELEASE_ROW_EXAMPLE],
    });
    const operations = Object.keys(PUBLIC_OPERATIONS).filter(
      (name) => !['getOpenApi', 'getResource', 'headResource'].includes(name),
    ) as (keyof typeof PUBLIC_OPERATIONS)[];
    for (const operation of operations) {
      const { status } = await ask(server, operation, '?nocache=123&unknown=1');
      expect([operation, status]).toEqual([operation, 200]);
    }
    const openApi = await fetch(`${server.url}/openapi.yaml`);
    expect(openApi.headers.get('content-type')).toBe('application/yaml; charset=utf-8');
    expect(await openApi.text()).toContain('openapi: 3.0.3');
  });

  it('serve the bytes of the release under the CDN path', async () => {
    const server = await ready();
    const response = await fetch(`${server.url}/${CDN_HOST}/1.66.405117/TableBundles/Excel.zip`);
    expect([response.status, await response.text()]).toEqual([200, 'excel bytes']);
  });

  it('give launchers the data that they check: CRC-64 and sizes as decimal text, from the right root', async () => {
    const server = await ready();
    const { body } = await ask(server, 'getLauncherBootstrap');
    const { source, file } = body as { source: string; file: object[] };
    expect(source).toBe(`/${CDN_HOST}/1.66.405117`);
    expect(file).toHaveLength(4);
    expect(file).toContainEqual({ path: '/empty', hash: '0', size: '0' });
    const config = await ask(server, 'getLauncherGameConfig');
    expect((config.body as { data: object }).data).toMatchObject({
      game_latest_version: '1.66.405117',
      game_lowest_version: '1.66.405117',
      game_start_params: [],
      decompression_size: '1.1MB',
    });
  });

  it('rewrite server-info from the configuration, whatever Host says', async () => {
    const server = await ready();
    const text = await new Promise<string>((resolve, reject) => {
      httpRequest(
        `${server.url}/v1/server-info`,
        { headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' } },
        (response) => {
          response.setEncoding('utf8');
          let body = '';
          response.on('data', (piece: string) => {
            body += piece;
          });
          response.on('end', () => {
            resolve(body);
          });
        },
      )
        .on('error', reject)
        .end();
    });
    expect(text).toBe(
      SERVER_INFO.replace('https://x.example/a', `https://resources.example.org/${CDN_HOST}/1.66.405117`),
    );
  });

  it('page the manifest in byte order, and past its end', async () => {
    const server = await ready();
    const first = (await ask(server, 'listResources', '?limit=3')).body as {
      items: { destination: string }[];
      next_offset: number;
    };
    expect(first.items.map(({ destination }) => destination)).toEqual([
      'Media/音声.zip',
      'TableBundles/Excel.zip',
      'TableBundles/ExcelDB.db',
    ]);
    expect(first.next_offset).toBe(3);
    expect((await ask(server, 'listResources', '?offset=3')).body).toMatchObject({
      next_offset: null,
      total: 4,
    });
    expect((await ask(server, 'listResources', '?offset=9007199254740991')).body).toMatchObject({
      items: [],
      next_offset: null,
    });
  });

  it('ignore the Authorization header of launchers and never log it', async () => {
    const server = await ready();
    const response = await fetch(`${server.url}/api/launcher/game/config`, {
      headers: { authorization: '{"head":{"game_tag":"canary"},"sign":"0"}' },
    });
    expect(response.status).toBe(200);
    await fetch(`${server.url}/v1/release?svc_token=canary`);
    expect(server.log.join('')).not.toContain('canary');
    expect(server.log.join('')).toContain('"route":"/v1/release"');
  });
});

describe('methods, paths and queries', () => {
  it('answer HEAD as GET without a body, OPTIONS with Allow, others with 405', async () => {
    const server = await ready();
    for (const path of ['/healthz', '/v1/release']) {
      const head = await fetch(server.url + path, { method: 'HEAD' });
      const options = await fetch(server.url + path, { method: 'OPTIONS' });
      const post = await fetch(server.url + path, { method: 'POST', body: 'x' });
      expect([head.status, await head.text()]).toEqual([200, '']);
      expect(Number(head.headers.get('content-length'))).toBeGreaterThan(0);
      expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
      expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
      expect(ProblemSchema.parse(await post.json()).code).toBe('method_not_allowed');
    }
  });

  it('ignore any query where no 400 is declared', async () => {
    const server = await ready();
    for (const [name, { answers }] of Object.entries(PUBLIC_OPERATIONS)) {
      const operation = name as keyof typeof PUBLIC_OPERATIONS;
      if (operation === 'getResource' || answers[200]?.kind !== 'json' || 400 in answers) continue;
      // Checks the status against those of the operation.
      expect((await ask(server, operation, '?verbose=%zz&%ff')).status).toBeLessThan(400);
    }
  });

  it('refuse unknown paths, malformed escapes and bad parameters', async () => {
    const server = await ready();
    const problem = async (path: string): Promise<[number, string]> => {
      const response = await fetch(server.url + path, { headers: { 'x-request-id': 'id-of-the-test' } });
      const body: Problem = ProblemSchema.parse(await response.json());
      expect(body.instance).toBe('id-of-the-test');
      return [response.status, body.code];
    };
    expect(await problem('/v1/nothing')).toEqual([404, 'not_found']);
    expect(await problem('/api/launcher/base/config')).toEqual([404, 'not_found']);
    expect(await problem('/admin/nothing')).toEqual([404, 'not_found']);
    expect(await problem('/v1/release/')).toEqual([404, 'not_found']);
    expect(await problem('/V1/release')).toEqual([404, 'not_found']);
    expect(await problem('/v1/%zz')).toEqual([400, 'invalid_request']);
    expect(await problem('/v1/%c0%ae')).toEqual([400, 'invalid_request']);
    expect(await problem('/v1/resources?limit=%zz')).toEqual([400, 'invalid_request']);
    for (const query of ['limit=0', 'limit=1001', 'limit=x', 'offset=-1', 'limit=1&limit=2', 'offset=1.5']) {
      expect([query, ...(await problem(`/v1/resources?${query}`))]).toEqual([query, 400, 'invalid_request']);
    }
    expect(await problem('/v1/distribution?channel=other')).toEqual([400, 'invalid_request']);
    expect(await problem('/v1/distribution?release_id=..%2fx')).toEqual([400, 'invalid_request']);
  });
});

describe('/v1/release', () => {
  it('has an entity tag, and answers 304 without a body to a client that names it', async () => {
    const server = await ready();
    const first = await fetch(`${server.url}/v1/release`);
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^W\/"/);
    const again = await fetch(`${server.url}/v1/release`, { headers: { 'if-none-match': etag } });
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
    const other = await fetch(`${server.url}/v1/release`, { headers: { 'if-none-match': 'W/"x"' } });
    expect(other.status).toBe(200);
  });
});

describe('/v1/distribution', () => {
  it('gives the line 1 of the manifest and the document on the first page, unless the document is damaged', async () => {
    const server = await ready();
    const first: Distribution = (await ask(server, 'getDistribution', '?limit=2')).body;
    expect(first.header).toMatchObject({ release_id: '1.66.405117', entry_count: 4 });
    expect(first.server_info).toBe(SERVER_INFO);
    const second: Distribution = (await ask(server, 'getDistribution', '?limit=2&offset=2')).body;
    expect([second.header, second.server_info]).toEqual([undefined, undefined]);
    await writeFile(server.store.pathOf(SERVER_INFO), SERVER_INFO.replace('x.example', 'y.example'));
    const damaged = await ask(server, 'getDistribution', '?limit=2');
    expect([damaged.status, (damaged.body as Problem).reason]).toEqual([409, 'EntryDamaged']);
  });

  it('reads one entry again and reports the result', async () => {
    const server = await ready();
    const { body } = await ask(server, 'getDistribution', '?destination=TableBundles%2FExcel.zip');
    expect(body).toMatchObject({
      total: 1,
      next_offset: null,
      items: [{ size: 11 }],
      revalidated: { size: 11 },
    });
    const unknown = await ask(server, 'getDistribution', '?destination=TableBundles%2Fother');
    expect(unknown.status).toBe(404);
  });

  it('finds a flipped bit, and withdraws the release from every route until it is repaired', async () => {
    const server = await ready();
    const path = server.store.pathOf('excel bytes');
    await writeFile(path, 'exceL bytes');
    const { status, body } = await ask(server, 'getDistribution', '?destination=TableBundles%2FExcel.zip');
    expect([status, (body as Problem).reason]).toEqual([409, 'EntryDamaged']);
    for (const operation of [
      'getReadiness',
      'getBootstrap',
      'getLauncherBootstrap',
      'listResources',
      'getServerInfo',
    ] as const) {
      expect([operation, (await ask(server, operation)).status]).toEqual([operation, 503]);
    }
    expect((await fetch(`${server.url}/${CDN_HOST}/1.66.405117/empty`)).status).toBe(503);
    expect((await ask(server, 'getDistribution')).status).toBe(409);
    expect((await ask(server, 'getLauncherGameConfig')).status).toBe(200);

    await writeFile(path, 'excel bytes');
    await server.parts.room.serving.recheck();
    expect((await ask(server, 'getReadiness')).status).toBe(200);
    expect((await ask(server, 'getDistribution', '?destination=TableBundles%2FExcel.zip')).status).toBe(200);
  });

  it('gives only what differs from a snapshot that it still serves, in pages, and otherwise all entries', async () => {
    const server = await startTestServer({ refresh: false });
    const names = Array.from({ length: 20 }, (_, at) => `files/${at}`);
    const before = Object.fromEntries([...names, 'gone', 'gone too'].map((name) => [name, name]));
    const after = { ...Object.fromEntries(names.map((name) => [name, name])), added: 'a', 'files/3': 'b' };
    const { store } = server;
    const [older, official] = [
      await store.addRelease({ releaseId: 'r1', files: before }),
      await store.addRelease({ releaseId: 'r2', files: after, document: SERVER_INFO }),
    ];
    const retained = { ...older, channel: 'official' as const, retained_until: now() + 3600 };
    server.daemon.setEnvelope(store.attest({ version: 1, issuedAt: now(), official, retained: [retained] }));
    server.parts.room.refresher.start();
    await until(() => server.parts.room.serving.state().byReleaseId.size === 2, 5_000);
    const page = async (query: string): Promise<Distribution> =>
      (await ask(server, 'getDistribution', query)).body;

    const since = `since=${older.snapshot_id}`;
    const pages = [await page(`?${since}&limit=3`), await page(`?${since}&limit=3&offset=3`)];
    const places = pages.map(({ total, offset, limit, next_offset: next }) => [total, offset, limit, next]);
    expect(places).toEqual([
      [4, 0, 3, 3],
      [4, 3, 3, null],
    ]);
    expect(pages.map(({ items }) => items.map(({ destination }) => destination))).toEqual([
      ['added', 'files/3'],
      [],
    ]);
    expect(pages.map(({ removed }) => removed)).toEqual([['gone'], ['gone too']]);
    expect(pages.map(({ since: from, snapshot_id: of }) => [from, of])).toEqual(
      Array.from({ length: 2 }, () => [older.snapshot_id, official.snapshot_id]),
    );
    expect([pages[0]?.header?.entry_count, pages[0]?.server_info]).toEqual([21, SERVER_INFO]);
    expect(await page(`?${since}&offset=9`)).toMatchObject({ items: [], removed: [], next_offset: null });
    expect(await page(`?since=${official.snapshot_id}`)).toMatchObject({ total: 0, items: [], removed: [] });
    // Back to the older one.
    expect(await page(`?release_id=r1&since=${official.snapshot_id}`)).toMatchObject({
      total: 4,
      removed: ['added'],
    });

    const unknown = await page(`?since=blake3:${'0'.repeat(64)}`);
    expect([unknown.since, unknown.removed, unknown.total]).toEqual([undefined, undefined, 21]);
    server.daemon.setEnvelope(store.attest({ version: 2, issuedAt: now(), official }));
    await until(async () => (await page(`?${since}`)).total === 21);
    for (const hostile of ['', 'r1', 'blake3:', `blake3:${'A'.repeat(64)}`, 'a'.repeat(9000), '%00']) {
      const { status, body } = await ask(server, 'getDistribution', `?since=${hostile}`);
      expect([status, (body as Problem).errors?.[0]?.pointer]).toEqual([400, 'since']);
    }
  });

  it('compares two manifests once for all who wait, and stops when all have left', async () => {
    const differenceOf = createDifferences();
    const entries = Array.from({ length: 20_000 }, (_, at) => sampleEntry(`file ${at}`, { size: 1 }));
    const [from, to] = [await indexOf(entries.slice(0, -1)), await indexOf(entries)];
    const [staying, leaving] = [new AbortController(), new AbortController()];
    const both = [staying, leaving].map(async ({ signal }) => await differenceOf(from, to, signal));
    leaving.abort(new Error('it left'));
    const [kept, gone] = await Promise.allSettled(both);
    expect(gone).toMatchObject({ status: 'rejected', reason: { message: 'it left' } });
    expect(kept).toMatchObject({ status: 'fulfilled', value: { length: 1 } });
    const known = await differenceOf(from, to, SIGNAL);
    expect(kept?.status === 'fulfilled' && kept.value === known).toBe(true);

    const alone = new AbortController();
    const left = differenceOf(to, from, alone.signal);
    alone.abort(new Error('it left, too'));
    await expect(left).rejects.toThrow('it left, too');
    // The next one begins again.
    expect(await differenceOf(to, from, SIGNAL)).toHaveLength(1);
  });

  it('compares no more than a few pairs at a time, and keeps what it found of all', async () => {
    const differenceOf = createDifferences();
    const sizes = Array.from({ length: 8 }, (_, at) => at + 2);
    const indexes = await Promise.all(
      sizes.map(
        async (size) =>
          await indexOf(Array.from({ length: size }, (_, at) => sampleEntry(`file ${at}`, { size: 1 }))),
      ),
    );
    const pairs = indexes.flatMap((from) => indexes.map((to) => [from, to] as const));
    const ask = async (asked: typeof pairs) =>
      await Promise.all(asked.map(async ([from, to]) => await differenceOf(from, to, SIGNAL)));
    // Equal ones need no comparison.
    const equal = pairs.filter(([from, to]) => from === to);
    const different = pairs.filter(([from, to]) => from.length === to.length - 1);
    const all = [...different, ...equal];
    const found = await ask(all);
    expect(found.map((each) => each?.length)).toEqual(
      all.map(([from, to], at) => (at < 4 || from === to ? to.length - from.length : undefined)),
    );
    const kept: unknown[] = [];
    for (const pair of pairs) kept.push(...(await ask([pair])));
    expect(pairs.filter((_, at) => kept[at] !== null).length).toBeGreaterThan(32);
    for (const [at, pair] of pairs.entries()) expect((await ask([pair]))[0]).toBe(kept[at]);
  });

  it('asks the daemon about a release that is not served, and reports when it cannot', async () => {
    const server = await ready();
    expect((await ask(server, 'getDistribution', '?release_id=1.0')).status).toBe(503);
    expect((await ask(server, 'listReleases')).status).toBe(503);
    const row = { ...RELEASE_ROW_EXAMPLE, release_id: '1.0', state: 'superseded' };
    server.daemon.setReport('release.list', { total: 1, releases: [row] });
    const superseded = await ask(server, 'getDistribution', '?release_id=1.0');
    expect(superseded.status).toBe(409);
    expect((superseded.body as Problem).detail).toContain('superseded');
    const missing = await ask(server, 'getDistribution', '?release_id=0.9');
    expect([missing.status, (missing.body as Problem).reason]).toEqual([409, 'ReleaseNotAuthorized']);
    expect((await ask(server, 'getDistribution', '?channel=localized')).status).toBe(409);
  });
});

describe('a server without a distributable release', () => {
  it('is alive but not ready, with the reason everywhere and nothing invented', async () => {
    const server = await startTestServer();
    await until(() => server.parts.room.refresher.diagnostics().lastSuccessAt);
    expect((await ask(server, 'getHealth')).body).toMatchObject({ status: 'degraded', attestation: null });
    const readiness = await ask(server, 'getReadiness', '?verbose');
    expect([readiness.status, (readiness.body as { reason: string }).reason]).toEqual([
      503,
      'AttestationUnavailable',
    ]);
    // Neither a probe nor a launcher is refused because of its query.
    expect((await ask(server, 'getReadiness', '?verbose=a&verbose=false')).status).toBe(503);
    expect((await ask(server, 'getLauncherConfigJson', '?version=a&version=b')).status).toBe(200);
    const bootstrap = await ask(server, 'getBootstrap');
    expect([bootstrap.status, bootstrap.headers.get('retry-after')]).toEqual([503, '10']);
    expect(bootstrap.headers.get('cache-control')).toBe('no-store');
    expect((await ask(server, 'getDistribution')).status).toBe(409);
    expect((await ask(server, 'getRelease')).body).toMatchObject({ release: null });
    expect((await ask(server, 'getLauncherGameConfig')).status).toBe(200);
    expect((await ask(server, 'getLauncherCdn')).body).toMatchObject({
      data: { primary_cdn: 'https://resources.example.org' },
    });
  });

  it('has the status ok exactly while the service is healthy', async () => {
    const server = await ready();
    const health = async () => (await ask(server, 'getHealth')).body as Health;
    await until(async () => (await health()).service.state === 'healthy');
    expect(await health()).toMatchObject({ status: 'ok' });
    server.daemon.setConditions([{ code: 'volume_full', message: 'no space', since: now(), next_try: null }]);
    await until(async () => (await health()).service.state !== 'healthy');
    expect(await health()).toMatchObject({
      status: 'degraded',
      service: { state: 'degraded', reason: 'VolumeFull' },
      refresh: { consecutive_failures: 0 },
      verdicts: { official: { distributable: true } },
    });
  });

  it('turns readiness off first when it shuts down', async () => {
    const server = await ready();
    server.setShuttingDown();
    const { status, body } = await ask(server, 'getReadiness');
    expect(status).toBe(503);
    expect((await fetch(`${server.url}/v1/bootstrap`)).status).toBe(200);
    expect(body).toMatchObject({ distributable: true });
  });
});

describe('a daemon that fails', () => {
  it.each(['hang', 'drip', 'garbage', 'huge', 'refuse', 'upgrade', 'endless head'] as const)(
    'by %s does not affect readiness while the attestation is valid, and is visible in the health',
    async (fault) => {
      const server = await ready();
      server.daemon.setFault(fault);
      // The waiting poll is answered; the next one meets the fault.
      server.daemon.setEnvelope(
        server.store.attest({ version: 2, issuedAt: now(), official: server.official }),
      );
      await until(() => server.parts.room.refresher.diagnostics().consecutiveFailures > 0);
      expect((await ask(server, 'getReadiness')).status).toBe(200);
      expect((await ask(server, 'listReleases')).status).toBe(503);
      const { body } = await ask(server, 'getHealth');
      expect(body).toMatchObject({ status: 'degraded', verdicts: { official: { distributable: true } } });
    },
  );
});

describe('auth.public = token', () => {
  it('requires a token everywhere except on probes and launcher envelopes', async () => {
    const server = await ready();
    const file = `${server.store.root}/token`;
    await writeFile(file, 'secret-token\n');
    const closed = await ready({ auth: { public: 'token' }, admin: { tokenFiles: [file] } });
    const status = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
      (await fetch(closed.url + path, { headers })).status;
    expect(await status('/healthz')).toBe(200);
    expect(await status('/api/launcher/game/config')).toBe(200);
    const refused = await fetch(`${closed.url}/v1/release`);
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer realm="slipway"',
    ]);
    expect(await status(`/${CDN_HOST}/empty`)).toBe(401);
    expect(await status(`/${CDN_HOST}/empty?svc_token=secret-token`)).toBe(200);
    expect(await status('/v1/release?svc_token=secret-token')).toBe(200);
    expect(await status('/v1/release?svc_token=wrong')).toBe(401);
    expect(await status('/v1/release?svc_token=secret-token&svc_token=secret-token')).toBe(401);
    expect(await status('/v1/release', { authorization: 'Bearer secret-token' })).toBe(200);
    expect(await status('/v1/release?svc_token=wrong', { authorization: 'Bearer secret-token' })).toBe(401);
    expect(closed.log.join('')).not.toContain('secret-token');
  });

  it('lets no shared cache store files', async () => {
    const file = join(await temporaryDirectory(), 'token');
    await writeFile(file, 'secret-token\n');
    const cacheControl = async (config: Parameters<typeof ready>[0]): Promise<string | null> => {
      const { url, official } = await ready(config);
      const answer = await fetch(`${url}/${CDN_HOST}/${official.release_id}/empty`, {
        headers: { authorization: 'Bearer secret-token' },
      });
      await answer.arrayBuffer();
      return answer.headers.get('cache-control');
    };
    expect(await cacheControl({ admin: { tokenFiles: [file] } })).toBe('public, max-age=31536000, immutable');
    expect(await cacheControl({ auth: { public: 'token' }, admin: { tokenFiles: [file] } })).toBe(
      'private, max-age=31536000, immutable',
    );
  });
});
