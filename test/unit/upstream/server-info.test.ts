import { describe, expect, test } from 'vitest';
import { crc32 } from 'node:zlib';
import { createUpstreamAdapter } from '../../../src/upstream/adapters/connect-upstream.ts';
import { chooseCatalogRoot } from '../../../src/upstream/adapters/server-info-document.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { generateGameRoot } from '../../support/game-catalogs.ts';
import { seededBytes, serverInfoDocument } from '../../support/generate-release.ts';
import type { UpstreamServer } from '../../support/upstream-server.ts';
import {
  adapterFor,
  configure,
  freeSignal,
  readAll,
  readBody,
  serve,
  upstreamErrorOf,
} from '../../support/upstream-harness.ts';

const ROOT = 'r90_x';

/** Catalogs and files of a small release below `r90_x/`. */
function releaseFiles(): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  const record = (path: string, size: number): { size: number; crc: number } => {
    const bytes = seededBytes(path, size);
    files.set(`${ROOT}/${path}`, bytes);
    return { size, crc: crc32(bytes) };
  };
  const excel = record('TableBundles/Excel.zip', 5000);
  const pack = record('TableBundles/TablePatchPack_0.zip', 300);
  const voice = record('MediaResources/GameData/Audio/VOC_JP/JP_X.zip', 700);
  const full = record('Android_PatchPack/FullPatch_000.zip', 900);
  const update = record('Android_PatchPack/UpdatePatch_000.zip', 20);
  const json = (path: string, value: unknown): void => {
    files.set(`${ROOT}/${path}`, Buffer.from(JSON.stringify(value)));
  };
  json('TableBundles/TableCatalog.json', {
    Table: { 'Excel.zip': { Name: 'Excel.zip', Size: excel.size, Crc: excel.crc, Includes: null } },
    TablePack: { p: { Name: 'TablePatchPack_0.zip', Size: pack.size, Crc: pack.crc, BundleFiles: [] } },
  });
  files.set(`${ROOT}/TableBundles/TableCatalog.hash`, Buffer.from('4104635476'));
  json('MediaResources/Catalog/MediaCatalog.json', {
    Table: {
      jp_x: {
        Path: 'GameData\\Audio\\VOC_JP\\JP_X.zip',
        FileName: 'JP_X.zip',
        Bytes: voice.size,
        Crc: voice.crc,
      },
    },
  });
  json('Android_PatchPack/BundlePackingInfo.json', {
    Milestone: 'm',
    FullPatchPacks: [
      {
        PackName: 'FullPatch_000.zip',
        PackSize: full.size,
        Crc: full.crc,
        BundleFiles: [{ Name: 'x.bundle', FileHash: 1 }],
      },
    ],
    UpdatePacks: [{ PackName: 'UpdatePatch_000.zip', PackSize: update.size, Crc: update.crc }],
  });
  return files;
}

async function serveRelease(files = releaseFiles()): Promise<UpstreamServer> {
  const server = await serve({ files });
  server.files.set('info.json', Buffer.from(serverInfoDocument(`${server.url}/${ROOT}/`)));
  return server;
}

function section(server: UpstreamServer, more: object = {}): object {
  return {
    kind: 'server-info',
    serverInfo: { url: `${server.url}/info.json`, platforms: ['Android'], ...more },
  };
}

describe('server-info upstream', () => {
  test('lists the content of the catalogs, the catalogs and their .hash files', async () => {
    const server = await serveRelease();
    server.files.set(`${ROOT}/Android_PatchPack/catalog_Android.zip`, Buffer.from('addressables'));
    const adapter = adapterFor(
      section(server, {
        appVersion: '1.67.412528',
        additionalPaths: ['Android_PatchPack/catalog_Android.zip'],
      }),
    );
    const { catalog, entries } = await readAll(adapter);
    expect(catalog.releaseId).toBe('1.67.412528-r90_x');
    expect(catalog.appVersion).toBe('1.67.412528');
    expect(Buffer.from(catalog.serverInfo ?? [])).toEqual(server.files.get('info.json'));
    const expected = [...server.files.keys()]
      .filter((path) => path.startsWith(`${ROOT}/`))
      .map((path) => path.slice(ROOT.length + 1));
    expect(entries.map((entry) => entry.destination).sort()).toEqual(expected.sort());
    for (const entry of entries) {
      const bytes = await readBody(adapter, entry);
      expect(bytes).toEqual(server.files.get(`${ROOT}/${entry.destination}`));
      if (entry.size !== null) expect(entry.size).toBe(bytes.length);
      if (entry.digests.crc32 !== undefined) expect(entry.digests.crc32).toBe(String(crc32(bytes)));
    }
    expect(catalog.fingerprint()).toMatch(/^[0-9a-f]{64}$/);
  });

  test('names the release after the root alone if no app version is configured', async () => {
    const server = await serveRelease();
    const { catalog } = await readAll(adapterFor(section(server)));
    expect(catalog.releaseId).toBe('r90_x');
    expect(catalog.appVersion).toBeNull();
  });

  test('answers null while neither the document nor a catalog changed', async () => {
    const server = await serveRelease();
    const adapter = adapterFor(section(server));
    const { catalog } = await readAll(adapter);
    expect(await adapter.fetchCatalog(catalog.etag, freeSignal())).toBeNull();
    server.files.set(`${ROOT}/TableBundles/TableCatalog.hash`, Buffer.from('1'));
    expect(await adapter.fetchCatalog(catalog.etag, freeSignal())).not.toBeNull();
  });

  test('names a required catalog that is missing, and works without an optional one', async () => {
    const files = releaseFiles();
    files.delete(`${ROOT}/MediaResources/Catalog/MediaCatalog.json`);
    const server = await serveRelease(files);
    const error = await upstreamErrorOf(readAll(adapterFor(section(server))));
    expect(error).toMatchObject({ code: 'upstream_not_found', retryable: false });
    expect(error.message).toContain(
      'MediaResources/Catalog/MediaCatalog.json or MediaResources/MediaCatalog.json',
    );
    const optional = { requiredCatalogs: ['table-catalog'], optionalCatalogs: ['media-catalog'] };
    const { entries } = await readAll(adapterFor(section(server, optional)));
    expect(entries.map((entry) => entry.destination)).toEqual([
      'TableBundles/Excel.zip',
      'TableBundles/TablePatchPack_0.zip',
      'TableBundles/TableCatalog.json',
      'TableBundles/TableCatalog.hash',
    ]);
  });

  test('reads the older locations and layouts', async () => {
    const files = new Map(
      [
        [
          `${ROOT}/MediaResources/MediaCatalog.json`,
          '{"k":{"Path":"a\\\\b.ogg","Bytes":1,"Crc":2},"Version":3}',
        ],
        [
          `${ROOT}/iOS/bundleDownloadInfo.json`,
          '{"BundleFiles":[{"Name":"x.bundle","Size":1,"Crc":4294967295}]}',
        ],
      ].map(([path, text]) => [path ?? '', Buffer.from(text ?? '')] as const),
    );
    const server = await serveRelease(files);
    const { entries } = await readAll(
      adapterFor(
        section(server, {
          platforms: ['iOS'],
          requiredCatalogs: ['bundle-download-info', 'media-catalog'],
        }),
      ),
    );
    expect(entries.filter((entry) => entry.digests.crc32 !== undefined)).toMatchObject([
      {
        destination: 'iOS/x.bundle',
        size: 1,
        digests: { crc32: '4294967295' },
        locator: `${server.url}/${ROOT}/iOS/x.bundle`,
      },
      {
        destination: 'MediaResources/a/b.ogg',
        size: 1,
        digests: { crc32: '2' },
        locator: `${server.url}/${ROOT}/MediaResources/a/b.ogg`,
      },
    ]);
  });

  test.each([
    [
      'a name that leaves the root',
      '{"Table":{"a":{"Name":"../../x","Size":1,"Crc":1}}}',
      'destination_invalid',
    ],
    ['a negative CRC', '{"Table":{"a":{"Name":"x","Size":1,"Crc":-1}}}', 'catalog_invalid'],
    [
      'an imprecise size',
      '{"Table":{"a":{"Name":"x","Size":9223372036854775807,"Crc":1}}}',
      'catalog_invalid',
    ],
    ['no name', '{"Table":{"a":{"Size":1,"Crc":1}}}', 'catalog_invalid'],
    ['no JSON', '<html>maintenance</html>', 'catalog_invalid'],
    ['no files', '{"Table":{}}', 'catalog_empty'],
  ])('refuses a catalog with %s', async (_, text, code) => {
    const server = await serveRelease(
      new Map([[`${ROOT}/TableBundles/TableCatalog.json`, Buffer.from(text)]]),
    );
    const error = await upstreamErrorOf(
      readAll(adapterFor(section(server, { requiredCatalogs: ['table-catalog'] }))),
    );
    expect(error.code).toBe(code);
  });

  test('notices a catalog that changes between locating and reading it', async () => {
    const server = await serveRelease();
    const catalog = await adapterFor(section(server)).fetchCatalog(null, freeSignal());
    server.files.set(`${ROOT}/TableBundles/TableCatalog.json`, Buffer.from('{"Table":{}}'));
    const iterator = catalog!.entries(freeSignal())[Symbol.asyncIterator]();
    expect(await upstreamErrorOf(iterator.next())).toMatchObject({
      code: 'catalog_changed',
      retryable: true,
    });
  });

  test('refuses a configuration that names an unknown reader', () => {
    const configuration = configure({
      kind: 'server-info',
      serverInfo: { url: 'http://127.0.0.1/x', requiredCatalogs: ['nope'] },
    });
    expect(() => createUpstreamAdapter(configuration, { clock: systemClock })).toThrow(
      'there is no catalog reader "nope"',
    );
  });
});

describe('server-info upstream with catalogs in MemoryPack', () => {
  const PLATFORMS = ['Android', 'iOS', 'Windows'];

  async function serveGameRoot(change: (files: Map<string, Buffer>) => void = () => undefined): Promise<{
    readonly server: UpstreamServer;
    readonly files: Map<string, Buffer>;
    readonly listed: readonly string[];
  }> {
    const root = generateGameRoot('unit', PLATFORMS);
    change(root.files);
    const below = [...root.files].map(([path, bytes]) => [`${ROOT}/${path}`, bytes] as const);
    return { server: await serveRelease(new Map(below)), ...root };
  }

  test('lists every file of every platform once, with its size and CRC-32', async () => {
    const { server, files, listed } = await serveGameRoot();
    const adapter = adapterFor(section(server, { platforms: PLATFORMS }));
    const { entries } = await readAll(adapter);
    expect(entries.map((entry) => entry.destination).sort()).toEqual([...files.keys()].sort());
    for (const entry of entries) {
      const bytes = files.get(entry.destination) ?? Buffer.alloc(0);
      expect(entry.size).toBe(bytes.length);
      expect(entry.digests.crc32).toBe(listed.includes(entry.destination) ? String(crc32(bytes)) : undefined);
      expect(await readBody(adapter, entry)).toEqual(bytes);
    }
    const paths = entries.map((entry) => entry.destination);
    expect(paths).toContain('MediaResources-Windows/GameData/Audio/VOC_JP/JP_X.zip');
    expect(paths).toContain('Windows_PatchPack/catalog_Windows.zip');
    expect(paths).toContain('Windows_PatchPack/catalog_Windows.hash');
    expect(paths).toContain('TableBundles/TableCatalog.hash');
  });

  test('reads only the configured platforms', async () => {
    const { server } = await serveGameRoot();
    const { entries } = await readAll(adapterFor(section(server, { platforms: ['iOS'] })));
    const folders = new Set(entries.map((entry) => entry.destination.split('/')[0]));
    expect(folders).toEqual(new Set(['TableBundles', 'MediaResources', 'iOS_PatchPack']));
  });

  test('keeps the JSON form of a catalog beside the binary one, and reads it if there is no other', async () => {
    const json = Buffer.from(
      JSON.stringify({ FullPatchPacks: [{ PackName: 'x.zip', PackSize: 1, Crc: 2 }], UpdatePacks: null }),
    );
    const path = 'iOS_PatchPack/BundlePackingInfo.json';
    const both = await serveGameRoot((files) => files.set(path, json));
    const { entries } = await readAll(adapterFor(section(both.server, { platforms: ['iOS'] })));
    const paths = entries.map((entry) => entry.destination);
    expect(paths).toContain(path);
    expect(paths).toContain('iOS_PatchPack/FullPatch_000.zip');
    expect(paths).not.toContain('iOS_PatchPack/x.zip');
    const old = await serveGameRoot((files) => {
      files.set(path, json);
      files.delete(path.replace('.json', '.bytes'));
    });
    const read = await readAll(adapterFor(section(old.server, { platforms: ['iOS'] })));
    expect(read.entries.map((entry) => entry.destination)).toContain('iOS_PatchPack/x.zip');
  });

  test('reads a root from before packs without further settings, and each catalog once', async () => {
    const { server, files } = await serveGameRoot((files) => {
      for (const path of files.keys()) if (path.includes('_PatchPack/')) files.delete(path);
      files.set(
        'iOS/bundleDownloadInfo.json',
        Buffer.from('{"BundleFiles":[{"Name":"x","Size":1,"Crc":2}]}'),
      );
      files.set('iOS/bundleDownloadInfo.hash', Buffer.from('1'));
      files.set('iOS/catalog_iOS.json', Buffer.from('{}'));
      for (const path of files.keys()) if (path.startsWith('MediaResources-Windows/')) files.delete(path);
    });
    const expected = [...files.keys(), 'iOS/x'].sort();
    for (const more of [{}, { optionalCatalogs: ['bundle-download-info'] }]) {
      const { entries } = await readAll(adapterFor(section(server, { platforms: ['iOS'], ...more })));
      expect(entries.map((entry) => entry.destination).sort()).toEqual(expected);
    }
  });

  test('refuses a damaged catalog and names the byte', async () => {
    const path = 'Windows_PatchPack/BundlePackingInfo.bytes';
    const { server } = await serveGameRoot((files) => files.set(path, files.get(path)!.subarray(0, 60)));
    const error = await upstreamErrorOf(readAll(adapterFor(section(server, { platforms: PLATFORMS }))));
    expect(error).toMatchObject({ code: 'catalog_invalid', retryable: false });
    expect(error.message).toMatch(/Windows_PatchPack\/BundlePackingInfo\.bytes is damaged .*at byte [0-9]+/);
  });

  test('notices a change of a file beside a catalog', async () => {
    const { server } = await serveGameRoot();
    const adapter = adapterFor(section(server, { platforms: PLATFORMS }));
    const first = await readAll(adapter);
    server.files.set(`${ROOT}/Windows_PatchPack/catalog_Windows.zip`, Buffer.from('another'));
    const second = await readAll(adapter);
    expect(second.catalog.etag).not.toBe(first.catalog.etag);
    expect(second.catalog.fingerprint()).not.toBe(first.catalog.fingerprint());
  });

  test('tells a closed root from a missing one', async () => {
    const { server } = await serveGameRoot();
    const adapter = adapterFor(section(server, { platforms: PLATFORMS }));
    server.closed.add(`${ROOT}/`);
    const closed = await upstreamErrorOf(adapter.fetchCatalog(null, freeSignal()));
    expect(closed).toMatchObject({ code: 'upstream_closed', retryable: false });
    expect(closed.message).toContain(`the catalog root ${server.url}/${ROOT} is closed (status 403`);
    expect(await adapter.probe(freeSignal())).toMatchObject({
      ok: false,
      message: expect.stringContaining('is closed (status 403') as string,
    });
    server.closed.clear();
    for (const path of server.files.keys()) if (path.startsWith(ROOT)) server.files.delete(path);
    const missing = await upstreamErrorOf(adapter.fetchCatalog(null, freeSignal()));
    expect(missing).toMatchObject({ code: 'upstream_not_found', retryable: false });
    expect(missing.message).toContain('TableBundles/TableCatalog.bytes');
    expect(await adapter.probe(freeSignal())).toMatchObject({
      ok: false,
      message: expect.stringContaining('is missing below') as string,
    });
  });

  test('an object store that answers 403 for what does not exist is not closed', async () => {
    const media = 'MediaResources-Windows/Catalog/MediaCatalog.bytes';
    const { server } = await serveGameRoot((files) => files.delete(media));
    for (const path of ['MediaResources-Windows/', 'TableBundles/TableCatalog.hash']) {
      server.closed.add(`${ROOT}/${path}`);
    }
    const adapter = adapterFor(section(server, { platforms: PLATFORMS }));
    const error = await upstreamErrorOf(adapter.fetchCatalog(null, freeSignal()));
    expect(error).toMatchObject({ code: 'upstream_not_found' });
    expect(error.message).toContain(media);
    const { entries } = await readAll(adapterFor(section(server, { platforms: ['Android'] })));
    expect(entries.map((entry) => entry.destination)).not.toContain('TableBundles/TableCatalog.hash');
  });
});

describe('a file beside a catalog', () => {
  test('is bounded like every file whose size no catalog states', async () => {
    const server = await serveRelease();
    server.files.set(`${ROOT}/TableBundles/TableCatalog.hash`, Buffer.alloc(1025));
    const error = await upstreamErrorOf(readAll(adapterFor({ ...section(server), maxFileBytes: 1024 })));
    expect(error).toMatchObject({ code: 'catalog_too_large', retryable: false });
    expect(error.message).toContain('TableCatalog.hash is larger than 1024 bytes (upstream.maxFileBytes)');
    const { entries } = await readAll(adapterFor({ ...section(server), maxFileBytes: 1025 }));
    expect(entries.find(({ destination }) => destination === 'TableBundles/TableCatalog.hash')?.size).toBe(
      1025,
    );
  });
});

describe('chooseCatalogRoot', () => {
  const override = (Name: string, root: string): object => ({ Name, AddressablesCatalogUrlRoot: root });
  const document = {
    ConnectionGroups: [
      { Name: 'empty', OverrideConnectionGroups: [] },
      {
        Name: 'Prod',
        OverrideConnectionGroups: [override('1.0', 'https://a/m28'), override('1.66', 'https://a/r89//')],
      },
      { Name: 'Other', OverrideConnectionGroups: [override('2.0', 'https://b/r90')] },
    ],
  };

  test('uses the last override of the first group that has one, or the configured one', () => {
    expect(chooseCatalogRoot(document, 'https://s/x', null)).toEqual({
      url: 'https://a/r89',
      overrideName: '1.66',
    });
    expect(chooseCatalogRoot(document, 'https://s/x', '1.0').url).toBe('https://a/m28');
    expect(chooseCatalogRoot(document, 'https://s/x', '2.0').url).toBe('https://b/r90');
  });

  test('lists the existing names', () => {
    expect(() => chooseCatalogRoot(document, 'https://s/x', '9')).toThrow('it has "1.0", "1.66", "2.0"');
    expect(() => chooseCatalogRoot({ ConnectionGroups: 'x' }, 'https://s/x', '9')).toThrow('it has no Conn');
  });

  test.each(['ftp://a/r', 'r89', 'https://u:p@a/r', 'https://a/r?x=1', 'http://a/r'])(
    'refuses the root %s',
    (root) => {
      const one = { ConnectionGroups: [{ OverrideConnectionGroups: [override('1', root)] }] };
      expect(() => chooseCatalogRoot(one, 'https://s/x', null)).toThrow('cannot be used');
    },
  );
});
