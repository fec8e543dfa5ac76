import { open, rm } from 'node:fs/promises';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHANNEL_CHOICES } from '../../../src/domain/release/channel.ts';
import type { ReleaseId } from '../../../src/domain/release/release-id.ts';
import type { AttestedRelease } from '../../../src/domain/verdict/attestation.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { renderSize } from '../../../src/server/public/launcher/launcher-routes.ts';
import { rewriteServerInfo } from '../../../src/server/public/server-info/rewrite-server-info.ts';
import { startTestServer, type TestServer } from '../../support/start-test-server.ts';
import { until } from '../../support/until.ts';

const CDN_HOST = 'prod-clientpatch.bluearchiveyostar.com';
const MIB = 1024 * 1024;

const DOCUMENT = '{"AddressablesCatalogUrlRoot":"https://upstream.example/a"}';

const now = (): number => Math.floor(Date.now() / 1000);

/** A server and its releases: the official r1 and r2, and r1-l1, which was made from r1. */
interface Channels {
  readonly server: TestServer;
  readonly r1: AttestedRelease;
  readonly r2: AttestedRelease;
  readonly l1: AttestedRelease;
  /** Attests these releases; resolves when the server has accepted it and loaded them. */
  readonly attest: (releases: {
    readonly official: AttestedRelease | null;
    readonly localized: AttestedRelease | null;
    readonly retained?: readonly AttestedRelease[];
  }) => Promise<void>;
}

async function startChannels(channel: (typeof CHANNEL_CHOICES)[number]): Promise<Channels> {
  const server = await startTestServer({
    config: { serverInfo: { channel }, launcher: { channel } },
    refresh: false,
  });
  const { store } = server;
  const shared = { document: DOCUMENT, appVersion: '1.66.0' };
  const text = { 'a.csv': 'おはよう', 'b.ogg': 'sound' };
  const [r1, r2] = [
    await store.addRelease({ releaseId: 'r1', files: text, ...shared }),
    await store.addRelease({ releaseId: 'r2', files: { ...text, 'c.ogg': 'new' }, ...shared }),
  ];
  const l1 = await store.addRelease({
    releaseId: 'r1-l1',
    channel: 'localized',
    baseReleaseId: 'r1',
    files: { ...text, 'a.csv': '早上好' },
    ...shared,
  });
  const { serving, refresher } = server.parts.room;
  refresher.start();
  let version = 0;
  return {
    server,
    r1,
    r2,
    l1,
    attest: async ({ official, localized, retained = [] }) => {
      version += 1;
      server.daemon.setEnvelope(
        store.attest({
          version,
          issuedAt: now(),
          official,
          localized,
          stale: staleOf(localized, retained),
          retained: retained.map((release) => ({
            ...release,
            channel: 'localized' as const,
            retained_until: now() + 600,
          })),
        }),
      );
      const withdrawn = [official, localized].filter((release) => release?.result === 'FAILED').length;
      await until(() => {
        const { pending, current } = serving.state();
        const loaded = official === null || current.official?.releaseId === official.release_id;
        return serving.attestation()?.statement.version === version && pending.size === withdrawn && loaded;
      }, 5_000);
    },
  };
}

/** The test retains only a localized release whose base is no longer current. */
function staleOf(
  localized: AttestedRelease | null,
  [last]: readonly AttestedRelease[],
): { release_id: ReleaseId; base_release_id: ReleaseId } | null {
  if (localized !== null || last?.base_release_id === undefined) return null;
  return { release_id: last.release_id, base_release_id: last.base_release_id };
}

async function body(server: TestServer, path: string): Promise<{ http: number; text: string }> {
  const response = await fetch(`${server.url}${path}`);
  return { http: response.status, text: await response.text() };
}

/** Which release the server-info document and the bootstrap of launchers point at. */
async function pointers(server: TestServer): Promise<Readonly<Record<string, unknown>>> {
  const answers = await Promise.all(
    ['/v1/server-info', '/v1/launcher/bootstrap'].map(async (path) => await body(server, path)),
  );
  const [serverInfo, launcher] = answers.map(({ http, text }) => ({
    http,
    release: http === 200 ? (new RegExp(`/${CDN_HOST}/([^"]+)"`, 'u').exec(text)?.[1] ?? '') : null,
  }));
  return { serverInfo, launcher };
}

/** The status and the reason of `/v1/distribution` for the localized channel. */
async function distributionOf(server: TestServer): Promise<{ http: number; reason: string | null }> {
  const { http, text } = await body(server, '/v1/distribution?channel=localized');
  const { reason = null } = JSON.parse(text) as { reason?: string };
  return { http, reason };
}

const failed = (release: AttestedRelease): AttestedRelease => ({
  ...release,
  result: 'FAILED',
  failure: { reason: 'EntryDamaged', entry_count: 1, examples: ['a.csv'] },
});

/** The states of the two channels: the attestation, and the answers that must follow from it. */
const STATES = [
  {
    state: 'both channels',
    attested: ({ r1, l1 }) => ({ official: r1, localized: l1 }),
    official: 'r1',
    localized: 'r1-l1',
    distribution: { http: 200, reason: null },
  },
  {
    state: 'a damaged localized release',
    attested: ({ r1, l1 }) => ({ official: r1, localized: failed(l1) }),
    official: 'r1',
    localized: null,
    distribution: { http: 409, reason: 'EntryDamaged' },
  },
  {
    state: 'no localized release',
    attested: ({ r1 }) => ({ official: r1, localized: null }),
    official: 'r1',
    localized: null,
    distribution: { http: 409, reason: 'ReleaseNotAuthorized' },
  },
  {
    state: 'a stale localized release',
    attested: ({ r2, l1 }) => ({ official: r2, localized: null, retained: [l1] }),
    official: 'r2',
    localized: null,
    distribution: { http: 409, reason: 'BaseReleaseChanged' },
  },
] satisfies readonly {
  readonly state: string;
  readonly attested: (channels: Channels) => Parameters<Channels['attest']>[0];
  readonly official: string;
  readonly localized: string | null;
  readonly distribution: object;
}[];

describe('the channels in public routes', () => {
  describe('server-info and launchers', () => {
    it.each(CHANNEL_CHOICES)('with the channel %s point at its release or are refused', async (choice) => {
      const channels = await startChannels(choice);
      const { server, attest } = channels;
      for (const { state, attested, official, localized, distribution } of STATES) {
        await attest(attested(channels));
        const release =
          choice === 'official' ? official : (localized ?? (choice === 'localized' ? null : official));
        const pointed = { http: release === null ? 503 : 200, release };
        // No launcher learns of an update that it cannot install.
        const { text } = await body(server, '/api/launcher/game/config');
        const { data } = JSON.parse(text) as { data: Record<string, string> };
        expect({
          state,
          ...(await pointers(server)),
          version: data['game_latest_version'],
          distribution: await distributionOf(server),
        }).toEqual({
          state,
          serverInfo: pointed,
          launcher: pointed,
          version: release === null ? '0.0.0' : '1.66.0',
          distribution,
        });
      }
    });
  });

  describe('the bytes of a localized release', () => {
    it('are refused with 503 while it is withdrawn because of damage, and are unknown when it is gone', async () => {
      const { server, attest, r1, l1 } = await startChannels('official');
      await attest({ official: r1, localized: l1 });
      await attest({ official: r1, localized: failed(l1) });
      for (const file of ['a.csv', 'b.csv']) {
        const answer = await fetch(`${server.url}/${CDN_HOST}/r1-l1/${file}`);
        expect(answer.status).toBe(503);
        expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
        expect(await answer.json()).toMatchObject({ code: 'not_distributable', reason: 'EntryDamaged' });
      }
      expect((await body(server, `/${CDN_HOST}/r1/a.csv`)).http).toBe(200);
      await attest({ official: r1, localized: null });
      expect((await body(server, `/${CDN_HOST}/r1-l1/a.csv`)).http).toBe(404);
    });

    it('are served under its own path while it is current or retained, and not after', async () => {
      const { server, attest, r1, r2, l1 } = await startChannels('official');
      const path = `/${CDN_HOST}/r1-l1/a.csv`;
      await attest({ official: r1, localized: l1 });
      expect(await body(server, path)).toEqual({ http: 200, text: '早上好' });
      await attest({ official: r2, localized: null, retained: [l1] });
      expect(await body(server, path)).toEqual({ http: 200, text: '早上好' });
      expect(await distributionOf(server)).toEqual({ http: 409, reason: 'BaseReleaseChanged' });
      await attest({ official: r2, localized: null });
      expect((await body(server, path)).http).toBe(404);
      expect((await distributionOf(server)).http).toBe(409);
      expect((await body(server, `/${CDN_HOST}/r2/a.csv`)).text).toBe('おはよう');
    });
  });
});

const FILES = {
  'TableBundles/Excel.zip': Buffer.alloc(MIB, 1),
  'TableBundles/.hidden': 'dot',
  'Android_PatchPack/FullPatch_000.zip': Buffer.alloc(3 * MIB, 2),
  'iOS_PatchPack/BundlePackingInfo.bytes': Buffer.alloc(3 * MIB, 3),
  'Windows_PatchPack/FullPatch_000.zip': Buffer.alloc(2 * MIB, 4),
  'MediaResources-Windows/Catalog/MediaCatalog.bytes': 'media',
};

/** Bytes of a size, as launchers read it: units are powers of 1024. */
function readSize(text: string): number {
  const [, number, unit] = /^([0-9.]+)(B|KB|MB|GB|TB)$/.exec(text) ?? [];
  return Number(number) * 1024 ** ['B', 'KB', 'MB', 'GB', 'TB'].indexOf(unit ?? '');
}

async function serve(launcher: Readonly<Record<string, unknown>>): Promise<TestServer> {
  const server = await startTestServer({ config: { launcher } });
  const official = await server.store.addRelease({ releaseId: 'r1', files: FILES });
  const issuedAt = Math.floor(Date.now() / 1000);
  server.daemon.setEnvelope(server.store.attest({ version: 1, issuedAt, official }));
  await until(() => server.parts.room.serving.verdict('official').distributable, 5_000);
  return server;
}

async function listed(launcher: Readonly<Record<string, unknown>>): Promise<[string[], string]> {
  const server = await serve(launcher);
  const { file } = (await (await fetch(`${server.url}/v1/launcher/bootstrap`)).json()) as {
    file: { path: string; size: string }[];
  };
  const { data } = (await (await fetch(`${server.url}/api/launcher/game/config`)).json()) as {
    data: { decompression_size: string };
  };
  const sum = file.reduce((total, { size }) => total + Number(size), 0);
  expect(readSize(data.decompression_size)).toBeGreaterThanOrEqual(sum);
  return [file.map(({ path }) => path.slice(1)), data.decompression_size];
}

describe('the files of launchers', () => {
  describe('the files that launchers install', () => {
    const sorted = Object.keys(FILES).toSorted((left, right) => (left < right ? -1 : 1));

    it('are all files without globs', async () => {
      expect(await listed({})).toEqual([sorted, '9.1MB']);
    });

    it('leave out what a PC does not need, also from the size', async () => {
      expect(await listed({ exclude: ['{Android,iOS}_PatchPack/**'] })).toEqual([
        sorted.filter((name) => !/^(?:Android|iOS)_/.test(name)),
        '3.1MB',
      ]);
    });

    it('are the included ones that are not excluded', async () => {
      expect(
        await listed({ include: ['TableBundles/**', 'Windows_*/*.zip'], exclude: ['**/*.bytes'] }),
      ).toEqual([
        ['TableBundles/.hidden', 'TableBundles/Excel.zip', 'Windows_PatchPack/FullPatch_000.zip'],
        '3.1MB',
      ]);
    });

    it('may be none', async () => {
      expect(await listed({ include: ['nothing'] })).toEqual([[], '0B']);
    });

    it('do not limit the paths that are served', async () => {
      const server = await serve({ exclude: ['**'] });
      const response = await fetch(
        `${server.url}/prod-clientpatch.bluearchiveyostar.com/r1/TableBundles/Excel.zip`,
      );
      expect(response.status).toBe(200);
      await response.arrayBuffer();
    });
  });

  describe('renderSize', () => {
    it.each([
      [0, '0B'],
      [1023, '1023B'],
      [1024, '1KB'],
      [1025, '1.1KB'],
      [MIB - 1, '1MB'],
      [MIB, '1MB'],
      [1_064_319_423, '1015.1MB'],
      [1024 ** 3 - 1, '1GB'],
      [6 * 1024 ** 3, '6GB'],
      [1024 ** 5, '1024TB'],
    ])('renders %i bytes as %s', (bytes, text) => {
      expect(renderSize(bytes)).toBe(text);
      expect(readSize(text)).toBeGreaterThanOrEqual(bytes);
    });
  });
});

const ROOT = 'https://resources.example.org/cdn.example.net/r90';
const rewrite = (text: string, keepOverrides: readonly string[] = []): string => {
  const result = rewriteServerInfo(text, { root: ROOT, keepOverrides });
  if (!result.ok) throw new Error(result.error);
  return result.value;
};

describe('rewriteServerInfo', () => {
  it('changes every root of the usual document and no other byte', () => {
    const text = `{
  "ConnectionGroups": [{
    "Name": "Prod-Audit", "IsProductionAddressables": true, "ApiUrl": "https://game.example:5000/api/",
    "OverrideConnectionGroups": [
      {"Name": "1.0", "AddressablesCatalogUrlRoot": "https://patch.example/m28_1_0_1_mashiro3"},
      {"Name": "1.66", "AddressablesCatalogUrlRoot": "https://patch.example/r89_x"}
    ],
    "BundleVersion": "s8tloc7lo3", "Big": 12345678901234567890, "Exact": 1.50e+3, "Text": "音声\\u0041"
  }]
}\n`;
    expect(rewrite(text)).toBe(
      text
        .replace('https://patch.example/m28_1_0_1_mashiro3', ROOT)
        .replace('https://patch.example/r89_x', ROOT),
    );
  });

  it('keeps the named override groups', () => {
    const text =
      '{"ConnectionGroups":[{"AddressablesCatalogUrlRoot":"a","OverrideConnectionGroups":[{"AddressablesCatalogUrlRoot":"old","Name":"1.0"},{"Name":"1.66","AddressablesCatalogUrlRoot":"b"}]}]}';
    expect(JSON.parse(rewrite(text, ['1.0']))).toEqual({
      ConnectionGroups: [
        {
          AddressablesCatalogUrlRoot: ROOT,
          OverrideConnectionGroups: [
            { AddressablesCatalogUrlRoot: 'old', Name: '1.0' },
            { Name: '1.66', AddressablesCatalogUrlRoot: ROOT },
          ],
        },
      ],
    });
  });

  it('finds the member in any spelling, at any depth, and repeated', () => {
    const text =
      '\ufeff{"a":{"Addressables\\u0043atalogUrlRoot":"x"},"AddressablesCatalogUrlRoot":"y","AddressablesCatalogUrlRoot":"z"}';
    expect(rewrite(text)).toBe(
      `\ufeff{"a":{"Addressables\\u0043atalogUrlRoot":"${ROOT}"},"AddressablesCatalogUrlRoot":"${ROOT}","AddressablesCatalogUrlRoot":"${ROOT}"}`,
    );
  });

  it.each([
    '{"a":"https://leak.example/1"}',
    '["https://leak.example/1",["x"]]',
    '{"x":[{"AddressablesCatalogUrlRoot":"https://leak.example/1"}]}',
    '{ }',
    '[]',
    '7',
    'true',
  ])('replaces a value that is not text, which may contain the address of upstream: %s', (value) => {
    const text = `{"x": {"AddressablesCatalogUrlRoot": ${value} , "y":1},"AddressablesCatalogUrlRoot":"z"}`;
    expect(rewrite(text)).toBe(
      `{"x": {"AddressablesCatalogUrlRoot": "${ROOT}" , "y":1},"AddressablesCatalogUrlRoot":"${ROOT}"}`,
    );
  });

  it('keeps null, and text that only resembles the member', () => {
    const text =
      '{"AddressablesCatalogUrlRoot":null,"x":"AddressablesCatalogUrlRoot","y":["AddressablesCatalogUrlRoot"]}';
    expect(rewrite(text)).toBe(text);
  });

  it('reads a document of the largest size, whatever it holds', () => {
    const numbers = Array.from({ length: 2_000_000 }, () => '0').join(',');
    const text = `{"Numbers":[${numbers}],"AddressablesCatalogUrlRoot":"https://a.example/r1"}`;
    expect(rewrite(text) === text.replace('https://a.example/r1', ROOT)).toBe(true);
  });

  it.each(['', '{', '{"a":1,}', '// c\n{}', '{} {}', `${'['.repeat(70)}${']'.repeat(70)}`])(
    'refuses text that is not a JSON document: %j',
    (text) => {
      expect(rewriteServerInfo(text, { root: ROOT, keepOverrides: [] }).ok).toBe(false);
    },
  );

  it('changes only the roots of any document', () => {
    const replaceRoots = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(replaceRoots);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value).map(([key, inner]) => [
          key,
          key === 'AddressablesCatalogUrlRoot' && inner !== null ? ROOT : replaceRoots(inner),
        ]),
      );
    };
    const key = fc.oneof(fc.constant('AddressablesCatalogUrlRoot'), fc.constant('Name'), fc.string());
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        fc.string(),
        fc.integer(),
        fc.constant(null),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4, noNullPrototype: true }),
      ),
    }));
    fc.assert(
      fc.property(tree, fc.constantFrom(0, 2), (document, indent) => {
        // Converted through JSON first, because a member called __proto__ does not survive it.
        const plain: unknown = JSON.parse(JSON.stringify(document));
        expect(JSON.parse(rewrite(JSON.stringify(plain, null, indent)))).toEqual(replaceRoots(plain));
      }),
    );
  });
});

/** A document of this size with one root. */
function documentOf(bytes: number, root = 'https://official.example/r89'): string {
  const head = `{"AddressablesCatalogUrlRoot":"${root}","Notes":"`;
  return `${head}${'é'.repeat((bytes - head.length - 3) >> 1)}${' '.repeat((bytes - head.length - 3) & 1)}x"}`;
}

const rewritten = (text: string, releaseId = 'r1'): string =>
  text.replace(/https:\/\/official\.example\/\w+/, `https://resources.example.org/${CDN_HOST}/${releaseId}`);

interface Ready extends TestServer {
  readonly official: AttestedRelease;
  /** Attests the release again with another document; resolves when the server has accepted it. */
  attest(serverInfo: AttestedRelease['server_info'], version: number): Promise<void>;
  serverInfo(): Promise<{ status: number; text: string }>;
}

async function ready(document: string): Promise<Ready> {
  const server = await startTestServer({ refresh: false });
  const official = await server.store.addRelease({ releaseId: 'r1', files: { a: 'bytes' }, document });
  const { serving, refresher } = server.parts.room;
  const attest: Ready['attest'] = async (serverInfo, version) => {
    const issuedAt = Math.floor(Date.now() / 1000);
    server.daemon.setEnvelope(
      server.store.attest({ version, issuedAt, official: { ...official, server_info: serverInfo } }),
    );
    await until(() => serving.attestation()?.statement.version === version, 5_000);
  };
  refresher.start();
  await attest(official.server_info, 1);
  await until(() => serving.verdict('official').distributable, 5_000);
  const serverInfo = async (): Promise<{ status: number; text: string }> => {
    const response = await fetch(`${server.url}/v1/server-info`);
    return { status: response.status, text: await response.text() };
  };
  return { ...server, official, attest, serverInfo };
}

describe('/v1/server-info', () => {
  it.each([100, MIB, MIB + 1, 2 * MIB + 1, 4 * MIB])('serves a document of %i bytes', async (size) => {
    const document = documentOf(size);
    expect(Buffer.byteLength(document)).toBe(size);
    const server = await ready(document);
    const answers = await Promise.all([1, 2, 3].map(async () => await server.serverInfo()));
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      expect(text === rewritten(document)).toBe(true);
    }
  });

  it('serves another document of the same release as soon as it is attested', async () => {
    const server = await ready(documentOf(300));
    const before = server.parts.room.serving.state().current.official;
    const next = documentOf(2 * MIB, 'https://official.example/r90');
    await server.attest(await server.store.putDocument(next), 2);
    expect((await server.serverInfo()).text === rewritten(next)).toBe(true);
    const after = server.parts.room.serving.state().current.official;
    expect([after?.releaseId, after?.snapshotId]).toEqual([before?.releaseId, before?.snapshotId]);
    // The manifest was not read again.
    expect(after?.index).toBe(before?.index);
    await server.attest(null, 3);
    expect((await server.serverInfo()).status).toBe(404);
  });

  it.each([100, 3 * MIB])('never serves a damaged document of %i bytes; a new one heals it', async (size) => {
    const document = documentOf(size);
    const server = await ready(document);
    const file = await open(server.store.pathOf(document), 'r+');
    await file.write('X', size - 4);
    await file.close();
    expect((await server.serverInfo()).status).toBe(503);
    const { serving } = server.parts.room;
    expect(serving.verdict('official')).toMatchObject({ distributable: false, reason: 'EntryDamaged' });
    expect((await fetch(`${server.url}/${CDN_HOST}/a`)).status).toBe(503);
    const next = documentOf(size, 'https://official.example/r90');
    await server.attest(await server.store.putDocument(next), 2);
    expect(serving.verdict('official').distributable).toBe(true);
    expect((await server.serverInfo()).text === rewritten(next)).toBe(true);
  });

  it('serves a missing document again as soon as its object is back', async () => {
    const document = documentOf(2 * MIB);
    const server = await ready(document);
    await rm(server.store.pathOf(document));
    expect((await server.serverInfo()).status).toBe(503);
    expect(server.parts.room.serving.verdict('official').reason).toBe('EntryMissing');
    await server.store.putDocument(document);
    await until(async () => (await server.serverInfo()).status === 200, 10_000);
    expect(server.official.server_info?.blake3).toBe(blake3Hex(Buffer.from(document)));
  });
});
