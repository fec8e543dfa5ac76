import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { createCRC64 } from 'hash-wasm';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture, sharedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSystem, CDN_HOST, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasTool } from '../support/tools.ts';

const run = promisify(execFile);
const SERVER_INFO = {
  ConnectionGroups: [
    {
      Name: 'Prod-Audit',
      OverrideConnectionGroups: [
        { Name: '1.0', AddressablesCatalogUrlRoot: 'https://official.invalid/m28' },
        { Name: '1.67', AddressablesCatalogUrlRoot: 'https://official.invalid/r90' },
      ],
      BundleVersion: 'x',
      BigNumber: '9007199254740993',
    },
  ],
};

interface ServedSample {
  readonly system: TestSystem;
  readonly files: Map<string, Buffer>;
  readonly upstream: string;
}

async function serveSample(atEnd: AtEnd = onTestFinished): Promise<ServedSample> {
  const upstream = await temporaryDirectory(atEnd);
  const files = sampleFiles();
  await writeReleaseTree(upstream, { id: 'r90_one', files, serverInfo: SERVER_INFO });
  const system = await startSystem({ upstream: { kind: 'directory', directory: { path: upstream } }, atEnd });
  await system.untilReady(true);
  return { system, files, upstream };
}

describe('from upstream to client', () => {
  const served = sharedFixture(serveSample);

  it('serves every byte of the release to plain requests', async () => {
    const { system, files } = served();
    for (const [destination, bytes] of files) {
      const response = await fetch(system.cdn(destination));
      expect([response.status, response.headers.get('content-length')]).toEqual([200, String(bytes.length)]);
      expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    }
    const current = await fetch(`${system.serverUrl}/${CDN_HOST}/empty.bytes`);
    expect([current.status, current.headers.get('cache-control')]).toEqual([200, 'no-cache']);
  });

  it('answers every public route of the specification', async () => {
    const { system } = served();
    const routes = [
      '/healthz',
      '/readyz',
      '/v1/bootstrap',
      '/v1/launcher/bootstrap',
      '/api/launcher/game/config',
      '/api/launcher/game/config/json?version=1.67.0&file_path=prod%2Fx.zip',
      '/api/launcher/advanced/game/download/cdn',
      '/v1/release',
      '/v1/releases',
      '/v1/releases?channel=official',
      '/v1/distribution',
      '/v1/distribution?destination=TableBundles/Excel.zip',
      '/v1/resources?offset=2&limit=3',
      '/v1/server-info',
      '/openapi.yaml',
    ];
    for (const route of routes) {
      const response = await fetch(`${system.serverUrl}${route}`, {
        headers: { authorization: '{"head":{"game_tag":"X","time":1,"version":"1"},"sign":"0"}' },
      });
      expect([route, response.status]).toEqual([route, 200]);
      await response.arrayBuffer();
    }
    expect(await (await fetch(system.metricsUrl)).text()).toContain('slipway_');
    expect(JSON.stringify(system.server.lines)).not.toContain('game_tag');
  });

  it('rewrites only the catalog root of server-info', async () => {
    const { system } = served();
    const text = await (await fetch(`${system.serverUrl}/v1/server-info`)).text();
    const root = `${system.serverUrl}/${CDN_HOST}/r90_one`;
    const expected = JSON.stringify(SERVER_INFO)
      .replace('https://official.invalid/m28', root)
      .replace('https://official.invalid/r90', root);
    expect(text).toBe(expected);
  });

  it('leads a launcher from its first request to checked files', async () => {
    const { system, files } = served();
    const api = async (path: string): Promise<Record<string, unknown>> => {
      const envelope = (await (await fetch(`${system.serverUrl}${path}`)).json()) as {
        code: number;
        msg: string;
        data: Record<string, unknown>;
      };
      expect(Object.keys(envelope).toSorted()).toEqual(['code', 'data', 'msg']);
      expect([envelope.code, envelope.msg]).toEqual([200, 'OK']);
      return envelope.data;
    };
    const config = await api('/api/launcher/game/config');
    expect(config['game_start_params']).toEqual([]);
    expect(Object.keys(config)).toHaveLength(12);
    const { url } = await api(
      `/api/launcher/game/config/json?version=1.67.0&file_path=${encodeURIComponent(String(config['game_latest_file_path']))}`,
    );
    const { primary_cdn: cdn } = await api('/api/launcher/advanced/game/download/cdn');
    const manifest = (await (await fetch(`${String(url)}?nocache=1`)).json()) as {
      source: string;
      file: Array<{ path: string; hash: string; size: string }>;
    };
    expect(manifest.file).toHaveLength(files.size);
    const crc = await createCRC64();
    for (const file of manifest.file) {
      const address = `${String(cdn)}${`${manifest.source}${file.path}`.split('/').map(encodeURIComponent).join('/')}`;
      const bytes = Buffer.from(await (await fetch(address)).arrayBuffer());
      expect(String(bytes.length)).toBe(file.size);
      expect(String(BigInt(`0x${crc.init().update(bytes).digest('hex')}`))).toBe(file.hash);
    }
  });

  it.skipIf(!hasTool('curl'))('lets curl resume and take ranges', async () => {
    const { system, files } = served();
    const directory = await temporaryDirectory();
    const name = 'MediaResources/Movie/Opening.mp4';
    const bytes = files.get(name)!;
    const part = join(directory, 'opening.mp4');
    await writeFile(part, bytes.subarray(0, 1_500_000));
    await run('curl', ['-sS', '--fail', '-C', '-', '-o', part, system.cdn(name)]);
    expect((await readFile(part)).equals(bytes)).toBe(true);
    const range = await run('curl', ['-sS', '-r', '1048570-1048585', system.cdn(name)], {
      encoding: 'buffer',
    });
    expect(range.stdout.equals(bytes.subarray(1_048_570, 1_048_586))).toBe(true);
  });

  it.skipIf(!hasTool('wget'))('lets wget continue', async () => {
    const { system, files } = served();
    const directory = await temporaryDirectory();
    const name = 'MediaResources/more.ogg';
    await writeFile(join(directory, 'more.ogg'), files.get(name)!.subarray(0, 333_333));
    await run('wget', ['-q', '-c', system.cdn(name)], { cwd: directory });
    expect((await readFile(join(directory, 'more.ogg'))).equals(files.get(name)!)).toBe(true);
  });

  it.skipIf(!hasTool('aria2c'))('lets aria2 download in pieces', async () => {
    const { system, files } = served();
    const directory = await temporaryDirectory();
    for (const name of ['MediaResources/Movie/Opening.mp4', 'TableBundles/ExcelDB.db']) {
      await mkdir(dirname(join(directory, name)), { recursive: true });
      await run('aria2c', [
        '-q',
        '-x',
        '8',
        '-s',
        '8',
        '-k',
        '1M',
        '-d',
        directory,
        '-o',
        name,
        system.cdn(name),
      ]);
      expect((await readFile(join(directory, name))).equals(files.get(name)!)).toBe(true);
    }
  });

  it('keeps the old release reachable under its path when upstream has a new one', async () => {
    const { system, files, upstream } = await serveSample();
    const old = system.cdn('TableBundles/Excel.zip');
    const next = new Map(files).set('TableBundles/Excel.zip', Buffer.from('new bytes'));
    await writeReleaseTree(upstream, { id: 'r91_two', files: next });
    await system.succeed('sync');
    const path = `${system.serverUrl}/${CDN_HOST}/TableBundles/Excel.zip`;
    await expect.poll(async () => await (await fetch(path)).text()).toBe('new bytes');
    const retained = await fetch(old);
    expect(retained.status).toBe(200);
    expect(Buffer.from(await retained.arrayBuffer()).equals(files.get('TableBundles/Excel.zip')!)).toBe(true);
  });

  /** The tests that use it leave it with the same release. */
  const reused = reusedFixture(serveSample);

  it('replaces a server-info document of 3 MiB under the same release, ids and URLs', async () => {
    const { system, files, upstream } = await reused();
    const before = await system.untilReady(true);
    const serverInfo = { ...SERVER_INFO, Notes: 'n'.repeat(3 * 1024 * 1024) };
    await writeReleaseTree(upstream, { id: 'r90_one', files, serverInfo });
    expect(await system.succeed('sync')).toMatchObject({
      result: { unchanged: true, server_info_replaced: true, release_id: 'r90_one' },
    });
    const text = JSON.stringify(serverInfo).replaceAll(
      /https:\/\/official\.invalid\/\w+/g,
      `${system.serverUrl}/${CDN_HOST}/r90_one`,
    );
    await expect
      .poll(async () => (await (await fetch(`${system.serverUrl}/v1/server-info`)).text()) === text)
      .toBe(true);
    const after = await system.untilReady(true);
    expect([after.release_id, after.snapshot_id]).toEqual([before.release_id, before.snapshot_id]);
    const releases = (await (await fetch(`${system.serverUrl}/v1/releases`)).json()) as { total: number };
    expect(releases.total).toBe(1);
  });

  it('serves the same release immediately after a restart of both, and survives a silent daemon', async () => {
    const { system } = await reused();
    const before = await system.untilReady(true);
    await system.daemon.kill();
    const silent = await fetch(system.cdn('TableBundles/Excel.zip'));
    expect(silent.status).toBe(200);
    await silent.arrayBuffer();
    expect(await system.server.stop()).toBe(0);
    await Promise.all([system.startDaemon(), system.startServer()]);
    expect((await system.untilReady(true)).snapshot_id).toBe(before.snapshot_id);
  });
});
