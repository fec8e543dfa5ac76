import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { runVerify } from '../../src/cli/verify/verify.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { objectPath } from '../../src/snapshot/volume/layout.ts';
import { publishPatches, writePatches } from '../support/patch-files.ts';
import { writeReleaseTree } from '../support/release-tree.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { CDN_HOST, startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const MIB = 1024 * 1024;
const BUNDLE = 'Windows_PatchPack/scenario.bundle';
const SERVER_INFO = { AddressablesCatalogUrlRoot: 'https://upstream.example/a' };

const random = createRandom(16);
const OFFICIAL = new Map([
  [BUNDLE, random.bytes(17 * MIB + 4321)],
  ['MediaResources/voice.ogg', random.bytes(3 * MIB)],
  ['TableBundles/Text.csv', Buffer.from('Id,Text\n1,おはよう\n')],
]);
/** A patched bundle is another file under the same name, of another size. */
const PATCHED = Buffer.concat([random.bytes(9 * MIB), random.bytes(9 * MIB + 77)]);

interface Served {
  readonly system: TestSystem;
  readonly upstream: string;
  readonly folder: string;
}

/** A running system whose localized release r1-l1 replaces one bundle. */
const started = sharedFixture(async (atEnd): Promise<Served> => {
  const folder = await temporaryDirectory(atEnd);
  const [upstream, exchange] = [join(folder, 'upstream'), join(folder, 'exchange')];
  await writeReleaseTree(upstream, { id: 'r1', files: OFFICIAL, serverInfo: SERVER_INFO });
  await writePatches(exchange, 'r1', new Map([[BUNDLE, PATCHED]]));
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream }, maxAttempts: 1 },
    daemon: { exchange: { root: exchange } },
    server: {
      serverInfo: { channel: 'localized-if-available' },
      launcher: { channel: 'localized-if-available' },
    },
    atEnd,
  });
  await system.untilReady(true);
  await publishPatches(system);
  return { system, upstream, folder };
});

async function answer(
  path: string,
  { serverUrl }: TestSystem = started().system,
): Promise<{ http: number; body: Record<string, unknown> }> {
  const response = await fetch(`${serverUrl}${path}`);
  return { http: response.status, body: (await response.json()) as Record<string, unknown> };
}

const bundleUrl = (releaseId: string): string =>
  `${started().system.serverUrl}/${CDN_HOST}/${releaseId}/${BUNDLE}`;

describe('the localized channel', () => {
  it('is listed with its base, and server-info and launchers point at it', async () => {
    const distribution = await answer('/v1/distribution?channel=localized');
    expect(distribution.body).toMatchObject({
      release_id: 'r1-l1',
      channel: 'localized',
      release: { base_release_id: 'r1' },
    });
    const items = distribution.body['items'] as { destination: string; source: string; blake3: string }[];
    expect(items.map(({ destination, source }) => [destination, source])).toEqual([
      ['MediaResources/voice.ogg', 'official'],
      ['TableBundles/Text.csv', 'official'],
      [BUNDLE, 'localized'],
    ]);
    const releases = await answer('/v1/releases?channel=localized');
    expect(releases.body).toMatchObject({
      total: 1,
      releases: [{ release_id: 'r1-l1', channel: 'localized', state: 'current', base_release_id: 'r1' }],
    });
    expect((await answer('/v1/server-info')).body).toEqual({
      AddressablesCatalogUrlRoot: `${started().system.serverUrl}/${CDN_HOST}/r1-l1`,
    });
    const launcher = (await answer('/v1/launcher/bootstrap')).body;
    expect(launcher).toMatchObject({ source: `/${CDN_HOST}/r1-l1` });
    expect(launcher['file']).toContainEqual(
      expect.objectContaining({ path: `/${BUNDLE}`, size: String(PATCHED.length) }),
    );
    // The official channel and what is always official are as before.
    expect((await answer('/v1/bootstrap')).body).toMatchObject({ release: { release_id: 'r1' } });
    expect((await answer('/v1/distribution')).body).toMatchObject({ release_id: 'r1' });
  });

  it('shares the objects of its base: each is in the store once', async () => {
    const { system } = started();
    const objects = join(system.snapshotRoot, 'objects');
    const shards = await readdir(objects);
    const names = await Promise.all(shards.map(async (shard) => await readdir(join(objects, shard))));
    // Three official files, the patched bundle and the server-info document.
    expect(names.flat().filter((name) => /^[0-9a-f]{62}$/.test(name))).toHaveLength(5);
    for (const bytes of [...OFFICIAL.values(), PATCHED]) {
      expect((await stat(objectPath(system.snapshotRoot, blake3Hex(bytes)))).size).toBe(bytes.length);
    }
  });

  it('gives curl and aria2 exact ranges of a patched bundle under the immutable path', async () => {
    const { folder } = started();
    const head = await fetch(bundleUrl('r1-l1'), { method: 'HEAD' });
    expect(head.headers.get('cache-control')).toContain('immutable');
    expect(head.headers.get('etag')).not.toBe(
      (await fetch(bundleUrl('r1'), { method: 'HEAD' })).headers.get('etag'),
    );
    const part = join(folder, 'part');
    for (const [range, from, to] of [
      ['0-99', 0, 100],
      [`${MIB - 7}-${2 * MIB + 7}`, MIB - 7, 2 * MIB + 8],
      ['-1000', PATCHED.length - 1000, PATCHED.length],
    ] as const) {
      await run('curl', ['-sS', '--fail', '-r', range, '-o', part, bundleUrl('r1-l1')]);
      expect((await readFile(part)).equals(PATCHED.subarray(from, to))).toBe(true);
    }
    // A client that has the beginning of the official bundle does not get the rest of the patched one.
    const etag = (await fetch(bundleUrl('r1'), { method: 'HEAD' })).headers.get('etag') ?? '';
    const resumed = await fetch(bundleUrl('r1-l1'), { headers: { range: 'bytes=100-', 'if-range': etag } });
    expect([resumed.status, Number(resumed.headers.get('content-length'))]).toEqual([200, PATCHED.length]);
    await resumed.body?.cancel();
    const whole = 'patched.download';
    const connections = ['--split=16', '--max-connection-per-server=16', '--min-split-size=1M'];
    const target = [`--dir=${folder}`, `--out=${whole}`, bundleUrl('r1-l1')];
    await run('aria2c', ['-q', '--no-conf=true', ...connections, ...target]);
    expect(sha256(await readFile(join(folder, whole)))).toBe(sha256(PATCHED));
  });

  it('is compared with its base by slipway verify', async () => {
    const { system } = started();
    let text = '';
    const write = (more: string): void => {
      text += more;
    };
    const key = join(system.directory, 'keys', 'signing.pub');
    const io = { stdout: { write }, stderr: { write: () => true } };
    expect(await runVerify([system.snapshotRoot, '--keys', key], io)).toBe(0);
    expect(text).toContain('localized r1-l1: files: 1 patched, 2 as in its base, the official release r1\n');
  });

  it('is withdrawn by a new official release with a reason, and comes back with its own', async () => {
    const { system, upstream } = started();
    // No object is new: the other tests count them.
    const files = new Map([
      ...OFFICIAL,
      ['TableBundles/Text.csv', OFFICIAL.get('MediaResources/voice.ogg') ?? PATCHED],
    ]);
    await writeReleaseTree(upstream, { id: 'r2', files, serverInfo: SERVER_INFO });
    await system.succeed('sync');
    await until(async () => (await answer('/v1/distribution')).body['release_id'] === 'r2');
    const refused = await answer('/v1/distribution?channel=localized');
    expect(refused).toMatchObject({
      http: 409,
      body: { code: 'release_not_distributable', reason: 'BaseReleaseChanged' },
    });
    expect(refused.body['detail']).toContain('r1-l1 was made for r1');
    const retained = await fetch(bundleUrl('r1-l1'), { headers: { range: 'bytes=0-99' } });
    expect([
      retained.status,
      Buffer.from(await retained.arrayBuffer()).equals(PATCHED.subarray(0, 100)),
    ]).toEqual([206, true]);
    expect((await answer('/v1/distribution?channel=localized&release_id=r1-l1')).body).toMatchObject({
      release_id: 'r1-l1',
    });
    // Those that take the localized release only if there is one get the official one.
    expect((await answer('/v1/server-info')).body).toEqual({
      AddressablesCatalogUrlRoot: `${started().system.serverUrl}/${CDN_HOST}/r2`,
    });
    expect((await answer('/v1/launcher/bootstrap')).body).toMatchObject({ source: `/${CDN_HOST}/r2` });

    await writeReleaseTree(upstream, { id: 'r1', files: OFFICIAL, serverInfo: SERVER_INFO });
    await system.succeed('sync');
    await until(
      async () => (await answer('/v1/distribution?channel=localized')).body['release_id'] === 'r1-l1',
    );
  });
});

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
