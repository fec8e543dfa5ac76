import { crc32 } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { generateGameRoot, type GameRoot } from '../support/game-catalogs.ts';
import { serverInfoDocument } from '../support/generate-release.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { CDN_HOST, startSystem, type TestSystem, WITHOUT_TEXTS } from '../support/system.ts';
import { until } from '../support/until.ts';
import { startUpstreamServer, type UpstreamServer } from '../support/upstream-server.ts';

const PLATFORMS = ['Android', 'iOS', 'Windows'];

interface GameUpstream {
  readonly system: TestSystem;
  readonly upstream: UpstreamServer;
  /** Publishes a catalog root and names it in the server-info document. */
  readonly publish: (name: string) => GameRoot;
}

/** Starts an upstream in the layout of game clients, and a system that syncs from it. */
async function startGameUpstream(closed: boolean, atEnd: AtEnd): Promise<GameUpstream> {
  const upstream = await startUpstreamServer();
  atEnd(async () => await upstream.close());
  const publish = (name: string): GameRoot => {
    const root = generateGameRoot(name, PLATFORMS);
    for (const [path, bytes] of root.files) upstream.files.set(`${name}/${path}`, bytes);
    upstream.files.set('info.json', Buffer.from(serverInfoDocument(`${upstream.url}/${name}`)));
    return root;
  };
  if (closed) upstream.closed.add('r90_one/');
  publish('r90_one');
  const system = await startSystem({
    upstream: {
      kind: 'server-info',
      serverInfo: { url: `${upstream.url}/info.json`, platforms: PLATFORMS },
      backoffBaseMs: 5,
      backoffCapMs: 50,
    },
    daemon: WITHOUT_TEXTS,
    server: { launcher: { exclude: ['{Android,iOS}_PatchPack/**', 'MediaResources/**'] } },
    atEnd,
  });
  return { system, upstream, publish };
}

/** Downloads the release as a game client does: from the root that the server-info document names. */
async function downloadAsClient(system: TestSystem, { files, listed }: GameRoot): Promise<void> {
  const info = (await (await fetch(`${system.serverUrl}/v1/server-info`)).json()) as {
    ConnectionGroups: Array<{
      OverrideConnectionGroups: Array<{ AddressablesCatalogUrlRoot: string }>;
    }>;
  };
  const root = info.ConnectionGroups[0]?.OverrideConnectionGroups[1]?.AddressablesCatalogUrlRoot;
  for (const [path, bytes] of files) {
    const url = `${root}/${path.split('/').map(encodeURIComponent).join('/')}`;
    const head = await fetch(url, { method: 'HEAD' });
    expect([path, head.headers.get('content-length')]).toEqual([path, String(bytes.length)]);
    const body = Buffer.from(await (await fetch(url)).arrayBuffer());
    expect(body.equals(bytes)).toBe(true);
    if (listed.includes(path)) expect(crc32(body)).toBe(crc32(bytes));
  }
}

async function doctorMessage(system: TestSystem): Promise<string> {
  const report = (await (await system.askDaemon('/v1/reports/daemon.doctor')).json()) as {
    checks: Array<{ id: string; status: string; message: string }>;
  };
  const check = report.checks.find(({ id }) => id === 'upstream');
  return `${check?.status}: ${check?.message}`;
}

/** A task can be reported before its line of the log was read. */
async function untilLogged({ daemon }: TestSystem, code: string): Promise<void> {
  await until(() => daemon.lines.some((line) => line.includes(code)));
}

describe('an upstream of game clients', () => {
  /** Each test publishes roots of its own, and ends with a served release. */
  const opened = reusedFixture(async (atEnd) => await startGameUpstream(false, atEnd));

  it('is refused if its catalog is damaged, or a file is not what the catalog states', async () => {
    const { system, upstream, publish } = await opened();
    const sound = publish('r89_sound');
    await system.succeed('sync');
    await expect.poll(async () => (await system.untilReady(true)).release_id).toBe('r89_sound');
    publish('r89_damaged');
    const catalog = 'r89_damaged/Windows_PatchPack/BundlePackingInfo.bytes';
    const whole = upstream.files.get(catalog) ?? Buffer.alloc(0);
    upstream.files.set(catalog, whole.subarray(0, whole.length - 9));
    const damaged = await system.run('sync');
    expect(damaged).toMatchObject({ status: 'failed', failure_code: 'catalog_invalid' });
    expect(damaged.failure_reason).toMatch(/BundlePackingInfo\.bytes is damaged .* \(at byte [0-9]+\)/);
    upstream.files.set(catalog, whole);
    const file = 'r89_damaged/MediaResources-Windows/GameData/Audio/VOC_JP/JP_X.zip';
    const bytes = Buffer.from(upstream.files.get(file) ?? []);
    bytes.writeUInt8(bytes.readUInt8(9) ^ 1, 9);
    upstream.files.set(file, bytes);
    expect(await system.run('sync')).toMatchObject({
      status: 'failed',
      failure_code: 'digest_mismatch',
      failure_reason: expect.stringContaining('crc32') as string,
    });
    expect((await system.untilReady(true)).release_id).toBe('r89_sound');
    await downloadAsClient(system, sound);
  });

  it('changes its document without a new release; a client that began early finishes on a day with many roots', async () => {
    const { system, upstream, publish } = await opened();
    publish('r90_one');
    await system.succeed('sync');
    await expect.poll(async () => (await system.untilReady(true)).release_id).toBe('r90_one');
    const first = await system.untilReady(true);
    const early = generateGameRoot('r90_one', PLATFORMS);
    const document = JSON.parse(String(upstream.files.get('info.json'))) as object;
    const notes = 'n'.repeat(2 * 1024 * 1024);
    upstream.files.set('info.json', Buffer.from(JSON.stringify({ ...document, Notes: notes })));
    const synced = await system.run('sync');
    expect(synced).toMatchObject({
      status: 'succeeded',
      result: { unchanged: true, server_info_replaced: true, release_id: 'r90_one' },
    });
    const served = async (): Promise<string> =>
      await (await fetch(`${system.serverUrl}/v1/server-info`)).text();
    await expect.poll(async () => (await served()).includes(notes)).toBe(true);
    expect(await system.untilReady(true)).toMatchObject({
      release_id: 'r90_one',
      snapshot_id: first.snapshot_id,
    });

    for (const name of ['r90_one_2', 'r90_one_3', 'r91_two']) {
      publish(name);
      await system.succeed('sync');
      await expect.poll(async () => (await system.untilReady(true)).release_id).toBe(name);
    }
    for (const [path, bytes] of early.files) {
      const url = `${system.serverUrl}/${CDN_HOST}/r90_one/${path.split('/').map(encodeURIComponent).join('/')}`;
      const response = await fetch(url);
      expect([path, response.status]).toEqual([path, 200]);
      expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    }

    const launcher = (await (await fetch(`${system.serverUrl}/v1/launcher/bootstrap`)).json()) as {
      file: Array<{ path: string }>;
    };
    const installed = launcher.file.map(({ path }) => path.slice(1));
    const isForPhones = (path: string): boolean =>
      /^(?:Android_PatchPack|iOS_PatchPack|MediaResources)\//.test(path);
    const wanted = [...early.files.keys()].filter((path) => !isForPhones(path));
    expect(installed.toSorted()).toEqual(wanted.toSorted());
  });

  it('is synced from its binary catalogs, and every file reaches a client', async () => {
    const { system, publish } = await opened();
    const root = publish('r92_one');
    await system.succeed('sync');
    await expect.poll(async () => (await system.untilReady(true)).release_id).toBe('r92_one');
    await downloadAsClient(system, root);
    const page = (await (await fetch(`${system.serverUrl}/v1/resources?limit=1000`)).json()) as {
      items: Array<{ destination: string }>;
    };
    const served = page.items.map((item) => item.destination);
    expect(served.toSorted()).toEqual([...root.files.keys()].toSorted());

    const next = publish('r92_two');
    await system.succeed('sync');
    await expect.poll(async () => (await system.untilReady(true)).release_id).toBe('r92_two');
    await downloadAsClient(system, next);
  });

  it('is reported as closed or as missing, in the task, the log and the doctor, and synced once it opens', async () => {
    const { system, upstream } = await startGameUpstream(true, onTestFinished);
    const closed = await system.run('sync');
    expect(closed).toMatchObject({ status: 'failed', failure_code: 'upstream_closed' });
    expect(closed.failure_reason).toContain('is closed (status 403');
    expect(await doctorMessage(system)).toMatch(/^degraded: .* is closed \(status 403/);
    await system.succeed('refresh');
    expect(await doctorMessage(system)).toMatch(/^degraded: .* is closed \(status 403/);
    await untilLogged(system, 'upstream_closed');

    upstream.closed.clear();
    const files = new Map(upstream.files);
    for (const path of files.keys()) if (path.startsWith('r90_one/')) upstream.files.delete(path);
    const missing = await system.run('sync');
    expect(missing).toMatchObject({ status: 'failed', failure_code: 'upstream_not_found' });
    expect(missing.failure_reason).toContain('TableBundles/TableCatalog.bytes');
    expect(await doctorMessage(system)).toMatch(/^degraded: .* is missing below/);
    await untilLogged(system, 'upstream_not_found');

    for (const [path, bytes] of files) upstream.files.set(path, bytes);
    await system.succeed('sync');
    expect((await system.untilReady(true)).release_id).toBe('r90_one');
    expect(await doctorMessage(system)).toMatch(/^ok: /);
  });
});
