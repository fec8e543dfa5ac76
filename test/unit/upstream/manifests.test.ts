import { collect } from '../../support/collect.ts';
import { generateRelease } from '../../support/generate-release.ts';
import type { OwnedUpstreamAdapter } from '../../../src/upstream/adapters/connect-upstream.ts';
import type { UpstreamErrorCode } from '../../../src/upstream/upstream.ts';
import {
  adapterFor,
  freeSignal,
  readAll,
  readBody,
  serve,
  upstreamErrorOf,
} from '../../support/upstream-harness.ts';
import { usedMebibytes } from '../../support/used-memory.ts';
import { describe, expect, test } from 'vitest';

/** Lets a second server on loopback be another origin. */
const LOOPBACK = { allowedPrivateRanges: ['127.0.0.0/8'] };
const ENTRY = { destination: 'a/b.bin', size: 3 };

function manifestAdapter(url: string, more: object = {}, section: object = {}): OwnedUpstreamAdapter {
  return adapterFor({ kind: 'manifest', manifest: { url, ...section }, ...more });
}

async function failureOf(
  document: unknown,
  more: object = {},
): Promise<{ code: UpstreamErrorCode; message: string }> {
  const text = typeof document === 'string' ? document : JSON.stringify(document);
  const server = await serve({ files: new Map([['release.json', Buffer.from(text)]]) });
  return upstreamErrorOf(readAll(manifestAdapter(server.url, more)));
}

describe('manifest upstream', () => {
  test('reads a release, its server-info and its files', async () => {
    const release = generateRelease({
      releaseId: 'r90_abc',
      seed: 1,
      appVersion: '1.67.0',
      serverInfoRoot: 'https://patch.example/r90_abc',
    });
    const server = await serve({ files: release.manifestTree() });
    const adapter = manifestAdapter(`${server.url}/`);
    const { catalog, entries } = await readAll(adapter);
    expect(catalog.releaseId).toBe('r90_abc');
    expect(catalog.appVersion).toBe('1.67.0');
    expect(Buffer.from(catalog.serverInfo ?? [])).toEqual(server.files.get('server-info.json'));
    expect(catalog.fingerprint()).toMatch(/^[0-9a-f]{64}$/);
    expect(entries.map((entry) => [entry.destination, entry.size])).toEqual(
      [...release.files].map(([destination, bytes]) => [destination, bytes.length]),
    );
    for (const entry of entries) {
      expect(await readBody(adapter, entry)).toEqual(release.files.get(entry.destination));
    }
  });

  test('answers null while the document is unchanged, and again when it changes', async () => {
    const release = generateRelease({ releaseId: 'r1', seed: 1, sizes: [5] });
    const server = await serve({ files: release.manifestTree() });
    const adapter = manifestAdapter(server.url);
    const { catalog } = await readAll(adapter);
    expect(await adapter.fetchCatalog(catalog.etag, freeSignal())).toBeNull();
    expect(server.requests.at(-1)?.status).toBe(304);
    server.files.set(
      'release.json',
      generateRelease({ releaseId: 'r2', seed: 2, sizes: [5] })
        .manifestTree()
        .get('release.json') ?? Buffer.alloc(0),
    );
    expect((await adapter.fetchCatalog(catalog.etag, freeSignal()))?.releaseId).toBe('r2');
  });

  test('keeps the fingerprint back until the entries were read', async () => {
    const server = await serve({
      files: generateRelease({ releaseId: 'r1', seed: 1, sizes: [5] }).manifestTree(),
    });
    const catalog = await manifestAdapter(server.url).fetchCatalog(null, freeSignal());
    expect(() => catalog?.fingerprint()).toThrow('once its entries were read');
    if (catalog !== null) await collect(catalog.entries(freeSignal()));
    expect(catalog?.fingerprint()).toHaveLength(64);
  });

  test('encodes destinations and resolves the URLs of entries', async () => {
    const entries = [
      { destination: 'odd/100%+&?#.txt', size: 1 },
      { destination: 'b', size: 1, url: 'deep/b%20c' },
      { destination: 'c', size: 1, url: '/absolute', digests: { crc32: 7, md5: 'A'.repeat(32) } },
    ];
    const server = await serve({
      files: new Map([['root/release.json', Buffer.from(JSON.stringify({ release_id: 'r', entries }))]]),
    });
    const read = await readAll(manifestAdapter(`${server.url}/root`));
    expect(read.entries.map((entry) => entry.locator)).toEqual([
      `${server.url}/root/odd/100%25%2B%26%3F%23.txt`,
      `${server.url}/root/deep/b%20c`,
      `${server.url}/absolute`,
    ]);
    expect(read.entries[2]?.digests).toEqual({ crc32: '7', md5: 'a'.repeat(32) });
  });

  test.each<[string, unknown, UpstreamErrorCode, string]>([
    ['no JSON', 'hello', 'catalog_invalid', 'must be a JSON object'],
    ['cut short', '{"release_id":"r","entries":[{"destination"', 'upstream_truncated', 'ends too early'],
    ['no entries', { release_id: 'r', entries: [] }, 'catalog_empty', 'no entries'],
    ['no release id', { entries: [ENTRY] }, 'catalog_invalid', 'release_id is missing before entries'],
    ['release id last', { entries: [ENTRY], release_id: 'r' }, 'catalog_invalid', 'it must come first'],
    ['bad release id', { release_id: '../r', entries: [ENTRY] }, 'catalog_invalid', 'release_id'],
    [
      'late app version',
      { release_id: 'r', entries: [ENTRY], app_version: '1' },
      'catalog_invalid',
      'app_version',
    ],
    [
      'traversal',
      { release_id: 'r', entries: [{ ...ENTRY, destination: '../x' }] },
      'destination_invalid',
      '"../x"',
    ],
    [
      'control characters',
      { release_id: 'r', entries: [{ ...ENTRY, destination: `a\u0007\u202e${'b'.repeat(500)}` }] },
      'destination_invalid',
      '"a\\u0007\\u202eb',
    ],
    [
      'negative size',
      { release_id: 'r', entries: [{ ...ENTRY, size: -1 }] },
      'catalog_invalid',
      'entries[0]',
    ],
    ['no size', { release_id: 'r', entries: [{ destination: 'a' }] }, 'catalog_invalid', 'size'],
    [
      'imprecise size',
      '{"release_id":"r","entries":[{"destination":"a","size":9007199254740993}]}',
      'catalog_invalid',
      'size',
    ],
    [
      'short digest',
      { release_id: 'r', entries: [{ ...ENTRY, digests: { sha256: 'ab' } }] },
      'catalog_invalid',
      'sha256',
    ],
    [
      'unknown digest',
      { release_id: 'r', entries: [{ ...ENTRY, digests: { sha1: 'ab' } }] },
      'catalog_invalid',
      'sha1',
    ],
    [
      'large crc',
      { release_id: 'r', entries: [{ ...ENTRY, digests: { crc32: '4294967296' } }] },
      'catalog_invalid',
      'CRC-32',
    ],
    [
      'other origin',
      { release_id: 'r', entries: [{ ...ENTRY, url: 'http://127.0.0.2/x' }] },
      'catalog_invalid',
      'allowOtherOrigins',
    ],
    [
      'file URL',
      { release_id: 'r', entries: [{ ...ENTRY, url: 'file:///etc/passwd' }] },
      'catalog_invalid',
      'http or https',
    ],
    [
      'credentials',
      { release_id: 'r', entries: [{ ...ENTRY, url: 'http://u:p@127.0.0.1/x' }] },
      'catalog_invalid',
      'credentials',
    ],
  ])('refuses a document with %s', async (_, document, code, message) => {
    const error = await failureOf(document);
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
    expect(error.message.length).toBeLessThan(600);
  });

  test.each([
    ['is missing', new Set<string>(), 'upstream_not_found'],
    [
      'may not be read, as S3 answers for what a private bucket does not have',
      new Set(['release.json']),
      'upstream_closed',
    ],
  ])('names the command that writes the document when it %s', async (_title, closed, code) => {
    const server = await serve({ files: new Map([['a', Buffer.from('1')]]) });
    for (const path of closed) server.closed.add(path);
    const adapter = manifestAdapter(server.url);
    const error = await upstreamErrorOf(readAll(adapter));
    expect(error.code).toBe(code);
    expect(error.message).toContain('write it with slipway manifest DIR');
    expect((await adapter.probe(freeSignal())).message).toBe(error.message);
    // A file of the release is another matter.
    server.files.set(
      'release.json',
      Buffer.from('{"release_id":"r","entries":[{"destination":"b","size":1}]}'),
    );
    server.closed.clear();
    const { entries } = await readAll(adapter);
    const missing = await upstreamErrorOf(readBody(adapter, entries[0]!));
    expect(missing.message).not.toContain('slipway manifest');
  });

  test('bounds entries and bytes', async () => {
    const entries = Array.from({ length: 3 }, (_, index) => ({ destination: `f${index}`, size: 1 }));
    expect((await failureOf({ release_id: 'r', entries }, { maxEntries: 2 })).code).toBe('catalog_too_large');
    const padding = { release_id: 'r', padding: 'x'.repeat(4096), entries };
    expect((await failureOf(padding, { maxCatalogBytes: 1024 })).code).toBe('catalog_too_large');
  });

  test('lets entries lead to other origins if configured', async () => {
    const other = await serve({ files: new Map([['x', Buffer.from('abc')]]) });
    const document = { release_id: 'r', entries: [{ destination: 'x', size: 3, url: `${other.url}/x` }] };
    const server = await serve({ files: new Map([['release.json', Buffer.from(JSON.stringify(document))]]) });
    const adapter = manifestAdapter(server.url, LOOPBACK, { allowOtherOrigins: true });
    const { entries } = await readAll(adapter);
    expect(String(await readBody(adapter, entries[0]!))).toBe('abc');
  });

  test('sends the credentials of its URL as a header, only to its own origin, and never shows them', async () => {
    const other = await serve({ files: new Map([['x', Buffer.from('abc')]]) });
    const document = { release_id: 'r', entries: [{ destination: 'x', size: 3, url: `${other.url}/x` }] };
    const server = await serve({ files: new Map([['release.json', Buffer.from(JSON.stringify(document))]]) });
    const url = server.url.replace('http://', 'http://user:p%40ss@');
    const adapter = manifestAdapter(url, LOOPBACK, { allowOtherOrigins: true });
    const { entries } = await readAll(adapter);
    await readBody(adapter, entries[0]!);
    const expected = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    expect(server.requests[0]?.headers.authorization).toBe(expected);
    expect(other.requests[0]?.headers.authorization).toBeUndefined();
    expect(adapter.label).toBe(`${server.url}/`);
    await server.close();
    const health = await adapter.probe(freeSignal());
    expect(health.ok).toBe(false);
    expect(health.message).not.toMatch(/user|p@ss|p%40ss/);
  });

  test('leaves out what upstream.exclude names, and takes other globs for another catalog', async () => {
    const server = await serve({ files: generateRelease({ releaseId: 'r', seed: 1 }).manifestTree() });
    const read = async (exclude: readonly string[], etag: string | null = null) => {
      const adapter = adapterFor({ kind: 'manifest', manifest: { url: server.url }, exclude });
      const catalog = await adapter.fetchCatalog(etag, freeSignal());
      if (catalog === null) return null;
      const names: string[] = [];
      for await (const { destination } of catalog.entries(freeSignal())) names.push(destination);
      const { etag: next } = catalog;
      return { names, fingerprint: catalog.fingerprint(), excluded: catalog.excluded?.() ?? 0, etag: next };
    };
    const whole = await read([]);
    const part = await read(['TableBundles/**']);
    const tables = whole?.names.filter((name) => name.startsWith('TableBundles/')) ?? [];
    expect(tables.length).toBeGreaterThan(0);
    expect(part?.names).toEqual(whole?.names.filter((name) => !tables.includes(name)));
    expect(part?.excluded).toBe(tables.length);
    expect(part?.fingerprint).not.toBe(whole?.fingerprint);
    expect(await read(['TableBundles/**'], part?.etag)).toBeNull();
    expect((await read(['Movie/**'], part?.etag))?.etag).not.toBe(part?.etag);
    expect((await read([], part?.etag))?.names).toEqual(whole?.names);
    // What upstream never said is not sent to it.
    expect(server.requests.at(-1)?.headers['if-none-match']).toBeUndefined();
  });

  test('probes with HEAD', async () => {
    const server = await serve({ files: generateRelease({ releaseId: 'r', seed: 1 }).manifestTree() });
    expect(await manifestAdapter(server.url).probe(freeSignal())).toMatchObject({ ok: true });
    expect(server.requests.map((request) => request.method)).toEqual(['HEAD']);
    expect(await manifestAdapter(`${server.url}/elsewhere`).probe(freeSignal())).toMatchObject({ ok: false });
  });

  test('does not read ahead of its consumer: 200,000 entries keep memory flat', async () => {
    const entries = Array.from(
      { length: 200_000 },
      (_, index) =>
        `{"destination":"Android_PatchPack/folder/pack-${index}.zip","size":${index},"digests":{"sha256":"${'ab'.repeat(32)}"}}`,
    );
    const text = Buffer.from(`{"release_id":"r","entries":[${entries.join(',')}]}`);
    entries.length = 0;
    const server = await serve({ files: new Map([['release.json', text]]) });
    const catalog = await manifestAdapter(server.url).fetchCatalog(null, freeSignal());
    const before = usedMebibytes();
    let highest = 0;
    let count = 0;
    for await (const entry of catalog?.entries(freeSignal()) ?? []) {
      if (entry.size !== count) throw new Error('out of order');
      count += 1;
      if (count % 20_000 === 0) highest = Math.max(highest, usedMebibytes());
    }
    expect(count).toBe(200_000);
    // The whole text has 26 MiB, its entries as objects more.
    expect(highest - before).toBeLessThan(13);
  });
});
