import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { objectPath } from '../../src/snapshot/volume/layout.ts';
import { bytesOf, publicKeyOf, startOrigin, untilServed, type OriginWithEdges } from '../support/edge.ts';
import { sampleFiles } from '../support/release-tree.ts';
import type { TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const MOVIE = 'MediaResources/Movie/Opening.mp4';
const SERVER_INFO = { AddressablesCatalogUrlRoot: 'https://upstream.example/a' };
const FILES = sampleFiles(1);
/** The same release with one other file, and one more file with the bytes of another. */
const NEXT = new Map([
  ...FILES,
  ['TableBundles/Excel.zip', Buffer.from('new excel')],
  ['TableBundles/Copy.zip', Buffer.from('new excel')],
]);

async function ask<T>({ serverUrl }: TestSystem, path: string): Promise<T> {
  return (await (await fetch(`${serverUrl}${path}`)).json()) as T;
}

interface CurrentRelease {
  readonly release: {
    readonly release_id: string;
    readonly snapshot_id: string;
    readonly created_at: number;
  };
}

interface Announcing {
  readonly announced: { readonly release_id: string; readonly current_at: number } | null;
}

/** The paths of files that an edge asked the origin for. */
function filesAsked({ proxy }: OriginWithEdges): string[] {
  return proxy.seen.map(({ path }) => path).filter((path) => !path.startsWith('/v1/'));
}

function asBuffer(bytes: Buffer | number): Buffer {
  return typeof bytes === 'number' ? Buffer.alloc(0) : bytes;
}

const PATCHED = Buffer.from('{"TextJp":"老师"}');
const PATCHED_FILE = 'Windows_PatchPack/日本語.json';

/** Publishes a localized release of r1 at the origin, whose only patched file is {@link PATCHED_FILE}. */
async function publishLocalized({ origin }: OriginWithEdges): Promise<void> {
  const exchange = join(origin.directory, 'data', 'exchange');
  await mkdir(exchange, { recursive: true });
  await writeFile(join(exchange, 'patched.json'), PATCHED);
  const entry = {
    destination: PATCHED_FILE,
    file: 'patched.json',
    blake3: blake3Hex(PATCHED),
    size: PATCHED.length,
  };
  const manifest = { base_release_id: 'r1', entries: [entry] };
  await writeFile(join(exchange, 'patches.json'), JSON.stringify(manifest));
  await origin.succeed('localized-publish', {
    patch_manifest: 'patches.json',
    localized_release_id: 'r1-l1',
    reviewer: 'Rin',
  });
}

/** Changes the bytes of an object on the volume of a system, and lets its daemon find that. */
async function damage(system: TestSystem, bytes: Buffer): Promise<void> {
  const path = objectPath(system.snapshotRoot, blake3Hex(bytes));
  await chmod(path, 0o644);
  await writeFile(path, (await readFile(path)).fill(1, 0, 10));
  await system.run('verify', { force: true });
}

async function expectSame(
  edge: TestSystem,
  origin: TestSystem,
  files: ReadonlyMap<string, Buffer>,
): Promise<void> {
  const [here, there] = await Promise.all(
    [edge, origin].map(async (system) => await ask<CurrentRelease>(system, '/v1/release')),
  );
  expect(here?.release.snapshot_id).toBe(there?.release.snapshot_id);
  expect(here?.release.created_at).toBe(there?.release.created_at);
  for (const [destination, bytes] of files) {
    expect(await bytesOf(edge, here?.release.release_id ?? '', destination)).toEqual(bytes);
  }
}

/** Waits until an edge without a localized release says that it copies the channel, and why there is none. */
async function untilToldOfCopy(edge: TestSystem, why: string): Promise<void> {
  await until(async () => {
    const { service } = await ask<{ service: { channels: { localized: object } } }>(edge, '/healthz');
    expect(service.channels.localized).toMatchObject({
      reason: 'NothingPublished',
      message: `the localized channel is copied from the origin${why}`,
      next_step: { text: expect.stringContaining('of the origin') as string, action: null },
    });
    return true;
  });
}

describe('an edge', () => {
  it('copies the release of its origin byte for byte, follows a switch with the missing files only, and idles cheaply', async () => {
    const world = await startOrigin({ id: 'r1', files: FILES, serverInfo: SERVER_INFO });
    const edge = await world.startEdge();
    await untilServed(edge, 'r1');
    await expectSame(edge, world.origin, FILES);
    const document = await ask<Record<string, unknown>>(edge, '/v1/server-info');
    expect(document['AddressablesCatalogUrlRoot']).toMatch(`${edge.serverUrl}/`);
    expect(filesAsked(world)).toHaveLength(FILES.size);

    // While nothing changes, each look is one small request, whose answer has no body.
    const before = world.proxy.seen.length;
    await until(() => world.proxy.seen.length >= before + 3);
    const idle = world.proxy.seen.slice(before).filter(({ path }) => path === '/v1/release');
    expect(idle.map(({ status, bytes }) => [status, bytes])).toContainEqual([304, 0]);
    expect(world.proxy.seen.slice(before).every(({ path }) => path === '/v1/release')).toBe(true);

    world.proxy.seen.length = 0;
    await world.publish('r2', NEXT);
    const looks = world.proxy.seen.length;
    await untilServed(edge, 'r2');
    // No look after the switch finds nothing: the edge is late by the interval and the transfer, and not by more.
    const late = world.proxy.seen
      .slice(looks)
      .map(({ path, status }) => ({ isFile: !path.startsWith('/v1/'), status }));
    const copied = late.findLastIndex(({ isFile }) => isFile);
    expect(late.slice(0, copied + 1).filter(({ status }) => status === 304)).toEqual([]);
    await expectSame(edge, world.origin, NEXT);
    // Two destinations, one object.
    expect(filesAsked(world)).toHaveLength(1);
    expect(await bytesOf(edge, 'r1', 'TableBundles/Excel.zip')).toEqual(FILES.get('TableBundles/Excel.zip'));
  });

  it('continues an interrupted file where it stopped', async () => {
    const world = await startOrigin({ id: 'r1', files: FILES });
    world.proxy.change = (answer) => {
      if (!answer.path.includes('Opening')) return;
      answer.cutAfter = 3 * 1024 * 1024;
      world.proxy.change = null;
    };
    const edge = await world.startEdge();
    await untilServed(edge, 'r1');
    expect(await bytesOf(edge, 'r1', MOVIE)).toEqual(FILES.get(MOVIE));
    const [cut, continued, ...more] = world.proxy.seen.filter(({ path }) => path.includes('Opening'));
    expect([cut?.status, continued?.status, more]).toEqual([200, 206, []]);
    expect(continued?.bytes).toBeLessThan(FILES.get(MOVIE)?.length ?? 0);
  });

  it('serves without its origin for as long as it may, and not longer', async () => {
    const world = await startOrigin({ id: 'r1', files: FILES }, { attestation: { ttlSeconds: 3600 } });
    const edge = await world.startEdge({
      slipway: { maxAttestationAgeSeconds: 15 },
      daemon: { attestation: { ttlSeconds: 10 } },
    });
    await untilServed(edge, 'r1');
    world.proxy.isDown = true;
    const { attestation } = await ask<{ attestation: { payload: string } }>(world.origin, '/v1/release');
    const issuedAt = (
      JSON.parse(Buffer.from(attestation.payload, 'base64').toString()) as {
        predicate: { issued_at: number };
      }
    ).predicate.issued_at;
    await until(async () => {
      const response = await fetch(`${edge.serverUrl}/readyz`);
      const isOver = Date.now() / 1000 >= issuedAt + 15;
      // It may end late by the granularity of seconds, but never early.
      if (!isOver && response.status !== 200) throw new Error('it stopped too early');
      return response.status === 503;
    }, 90_000);
    expect(Date.now() / 1000 - issuedAt).toBeGreaterThanOrEqual(15);
    world.proxy.isDown = false;
    await world.origin.run('refresh');
    await untilServed(edge, 'r1');
  });

  it('copies the localized channel, follows its withdrawal, and makes no localized release itself', async () => {
    const world = await startOrigin({ id: 'r1', files: FILES });
    const edge = await world.startEdge();
    await untilServed(edge, 'r1');
    await publishLocalized(world);
    await until(
      async () => Buffer.compare(PATCHED, asBuffer(await bytesOf(edge, 'r1-l1', PATCHED_FILE))) === 0,
    );
    expect(await bytesOf(edge, 'r1-l1', MOVIE)).toEqual(FILES.get(MOVIE));
    expect(filesAsked(world).filter((path) => path.includes('r1-l1'))).toHaveLength(1);
    await expect(edge.control('localized-publish', { reviewer: 'Rin' })).rejects.toThrow('channel_mirrored');
    const texts = await edge.askDaemon('/v1/reports/translation.status');
    // The tasks that are never built here would be another one.
    expect(await texts.json()).toMatchObject({
      // A proxy stands before the origin.
      mirrored_from: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/$/) as string,
      publish_blockers: [
        {
          code: 'channel_mirrored',
          message: expect.stringContaining('people translate and publish there') as string,
        },
      ],
    });

    const localized = async (system: TestSystem): Promise<number> =>
      (await fetch(`${system.serverUrl}/v1/distribution?channel=localized&limit=1`)).status;
    expect(await localized(edge)).toBe(200);
    await world.origin.run('localized-rollback', { reviewer: 'Rin', reason: 'wrong' });
    await until(async () => (await localized(world.origin)) === 409);
    await until(async () => (await localized(edge)) === 409);
    await untilServed(edge, 'r1');
    // The release that was taken back is of an earlier official one now, and none replaces it.
    await world.offer('r2', NEXT);
    await world.origin.succeed('sync');
    await untilServed(edge, 'r2');
    await untilToldOfCopy(edge, ', which offers no release of it');
  });

  it('speaks of the origin while the localized release is damaged there, and repairs its own copy from there', async () => {
    const world = await startOrigin({ id: 'r1', files: FILES });
    const edge = await world.startEdge();
    await untilServed(edge, 'r1');
    await untilToldOfCopy(edge, ', which offers no release of it');
    await publishLocalized(world);
    await until(async () => Buffer.isBuffer(await bytesOf(edge, 'r1-l1', PATCHED_FILE)));
    await damage(edge, PATCHED);
    const copy = objectPath(edge.snapshotRoot, blake3Hex(PATCHED));
    await until(async () => (await readFile(copy)).equals(PATCHED));
    await until(async () => Buffer.isBuffer(await bytesOf(edge, 'r1-l1', PATCHED_FILE)));

    await damage(world.origin, PATCHED);
    const late = await world.startEdge();
    await untilServed(late, 'r1');
    await untilToldOfCopy(late, '; the origin has damaged files of localized release r1-l1');
  });

  it('has the bytes of an announced release before it becomes current, and switches at the stated time', async () => {
    const announceSeconds = 12;
    const world = await startOrigin({ id: 'r1', files: FILES }, { releases: { announceSeconds } });
    const edge = await world.startEdge();
    await untilServed(edge, 'r1');
    await world.offer('r2', NEXT);
    const task = await world.origin.run('sync');
    expect(task.status).toBe('succeeded');
    // Both clocks are the one of this machine.
    await until(
      async () => (await ask<Announcing>(world.origin, '/v1/release')).announced?.release_id === 'r2',
    );
    const { announced } = await ask<Announcing>(world.origin, '/v1/release');
    const currentAt = announced?.current_at ?? 0;
    await until(async () => (await ask<Announcing>(edge, '/v1/release')).announced?.current_at === currentAt);
    const bytes = await bytesOf(edge, 'r2', 'TableBundles/Excel.zip');
    const { release } = await ask<CurrentRelease>(edge, '/v1/release');
    // On a machine that stood still meanwhile, the time has come.
    if (Date.now() / 1000 < currentAt) expect(release.release_id).toBe('r1');
    expect(bytes).toEqual(NEXT.get('TableBundles/Excel.zip'));
    // An edge needs no answer of its origin for the switch.
    world.proxy.isDown = true;
    await untilServed(edge, 'r2');
    expect(Date.now() / 1000).toBeGreaterThanOrEqual(currentAt);
    await untilServed(world.origin, 'r2');
    world.proxy.isDown = false;
    expect(await bytesOf(edge, 'r1', 'TableBundles/Excel.zip')).toEqual(FILES.get('TableBundles/Excel.zip'));
  });

  it('follows its origin back to an earlier release without fetching anything', async () => {
    const world = await startOrigin({ id: 'r1', files: FILES });
    const edge = await world.startEdge();
    await untilServed(edge, 'r1');
    await world.publish('r2', NEXT);
    await untilServed(edge, 'r2');
    const fetched = filesAsked(world).length;
    await world.publish('r1', FILES);
    await untilServed(edge, 'r1');
    await expectSame(edge, world.origin, FILES);
    expect(filesAsked(world)).toHaveLength(fetched);
    // Clients that learned of the other one finish with it.
    expect(await bytesOf(edge, 'r2', 'TableBundles/Copy.zip')).toEqual(Buffer.from('new excel'));
  });

  it('takes an announcement back when its origin does', async () => {
    const world = await startOrigin({ id: 'r1', files: FILES }, { releases: { announceSeconds: 3600 } });
    const edge = await world.startEdge();
    await untilServed(edge, 'r1');
    await world.offer('r2', NEXT);
    await world.origin.run('sync');
    await until(async () => (await ask<Announcing>(edge, '/v1/release')).announced?.release_id === 'r2');
    await world.offer('r1', FILES);
    await world.origin.run('sync');
    await until(async () => (await ask<Announcing>(edge, '/v1/release')).announced === null);
    await until(async () => (await bytesOf(edge, 'r2', 'TableBundles/Excel.zip')) === 404);
    await untilServed(edge, 'r1');
  });

  it('copies the earlier releases that its origin retains', async () => {
    const world = await startOrigin({ id: 'r1', files: FILES });
    await world.publish('r2', NEXT);
    const edge = await world.startEdge();
    await untilServed(edge, 'r2');
    const excel = 'TableBundles/Excel.zip';
    await until(async () => Buffer.isBuffer(await bytesOf(edge, 'r1', excel)));
    expect(await bytesOf(edge, 'r1', excel)).toEqual(FILES.get(excel));
    // The two releases share all other objects.
    expect(filesAsked(world)).toHaveLength(FILES.size + 1);
    const none = await world.startEdge({ daemon: { retention: { retainedCount: 0, retainedSeconds: 0 } } });
    await untilServed(none, 'r2');
    expect(await bytesOf(none, 'r1', excel)).toBe(404);
  });

  it('does not copy damage of the disk of its origin', async () => {
    const world = await startOrigin({ id: 'r1', files: FILES });
    const edge = await world.startEdge();
    await untilServed(edge, 'r1');
    await damage(world.origin, FILES.get(MOVIE) ?? Buffer.alloc(0));
    await world.origin.untilReady(false);
    const before = world.proxy.seen.length;
    await until(() => world.proxy.seen.slice(before).some(({ status }) => status === 200));
    await until(() => world.proxy.seen.length >= before + 3);
    await untilServed(edge, 'r1');
    expect(await bytesOf(edge, 'r1', MOVIE)).toEqual(FILES.get(MOVIE));
  });
});

/** The attestation in the answer of `/v1/release`. */
type Envelope = Readonly<Record<'payload' | 'payloadType', string>>;

/** Changes JSON answers whose path begins like this. */
function changingJson(
  world: OriginWithEdges,
  prefix: string,
  change: (body: Record<string, unknown>) => void,
): void {
  world.proxy.change = (answer) => {
    if (!answer.path.startsWith(prefix) || answer.status !== 200) return;
    const body = JSON.parse(answer.body.toString()) as Record<string, unknown>;
    change(body);
    answer.body = Buffer.from(JSON.stringify(body));
  };
}

describe('a new edge', () => {
  it('is not ready, and serves nothing, until it is whole', async () => {
    const world = await startOrigin({ id: 'r1', files: FILES });
    world.proxy.change = (answer) => {
      if (answer.path.includes('Opening')) answer.status = 500;
    };
    const edge = await world.startEdge();
    await until(() => world.proxy.seen.filter(({ status }) => status === 500).length >= 3);
    // Everything else is here.
    expect((await edge.run('sync')).failure_code).toBe('upstream_status');
    const ready = await fetch(`${edge.serverUrl}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      expect.objectContaining({ distributable: false, release_id: null }),
    ]);
    for (const destination of FILES.keys()) expect(await bytesOf(edge, 'r1', destination)).toBe(503);
    world.proxy.change = null;
    await edge.succeed('sync');
    await untilServed(edge, 'r1');
    expect((await fetch(`${edge.serverUrl}/readyz`)).status).toBe(200);
    await expectSame(edge, world.origin, FILES);
    await expectVerified(world, edge);
  });
});

/** Has the program check an edge from outside, against its origin. */
async function expectVerified({ origin }: OriginWithEdges, edge: TestSystem): Promise<void> {
  const keys = ['--keys', publicKeyOf(edge), '--keys', publicKeyOf(origin)];
  const argv = ['verify', '--url', edge.serverUrl, ...keys, '--against', origin.serverUrl];
  const { stdout } = await promisify(execFile)(process.execPath, ['cmd/slipway.ts', ...argv]);
  expect(stdout).toMatch(/sound\n$/);
  // Without the key of the edge, its word counts for nothing.
  const foreign = ['verify', '--url', edge.serverUrl, '--keys', publicKeyOf(origin)];
  await expect(promisify(execFile)(process.execPath, ['cmd/slipway.ts', ...foreign])).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringContaining('origin_untrusted'),
  });
}

describe('an edge of an origin that wants a token', () => {
  it('copies with the token and within its limits, and without it gets nothing', async () => {
    const folder = await temporaryDirectory();
    const tokenFile = join(folder, 'edge.token');
    await writeFile(tokenFile, 'token-of-the-edges-1\n', { mode: 0o600 });
    const limits = { requestsPerSecond: 20, burst: 4, concurrentRequests: 4 };
    const world = await startOrigin(
      { id: 'r1', files: FILES },
      {},
      {
        auth: { public: 'token', tokens: [{ file: tokenFile, id: 'edges', limits }] },
      },
    );
    expect(await bytesOf(world.origin, 'r1', MOVIE)).toBe(401);
    const [edge, stranger] = await Promise.all([
      world.startEdge({ slipway: { tokenFile }, daemon: { upstream: { concurrency: 4 } } }),
      world.startEdge(),
    ]);
    await untilServed(edge, 'r1');
    // Clients of the edge need no token.
    for (const [destination, bytes] of FILES) expect(await bytesOf(edge, 'r1', destination)).toEqual(bytes);
    const { failure_code: code, failure_reason: reason } = await stranger.run('sync');
    expect([code, reason]).toEqual(['upstream_status', expect.stringContaining('status 401')]);
    await stranger.untilReady(false);
    // The file can change while the edge runs.
    await writeFile(tokenFile, 'token-of-the-edges-2\n');
    await world.publish('r2', NEXT);
    await untilServed(edge, 'r2');
    expect(await bytesOf(edge, 'r2', 'TableBundles/Copy.zip')).toEqual(Buffer.from('new excel'));
  });
});

describe('an origin that lies', () => {
  it('is refused with a named code, and none of it is ever served', async () => {
    const world = await startOrigin({ id: 'r1', files: FILES });
    const edge = await world.startEdge({ slipway: { pollSeconds: 3600 } });
    await untilServed(edge, 'r1');
    const older = await ask<{ attestation: Envelope }>(world.origin, '/v1/release');
    await world.publish('r2', NEXT);
    const refused = async (): Promise<string | null> => {
      const { failure_code: code } = await edge.run('sync');
      await untilServed(edge, 'r1');
      expect(await bytesOf(edge, 'r2', 'TableBundles/Excel.zip')).toBe(404);
      return code;
    };

    world.proxy.change = (answer) => {
      if (answer.path.includes('Excel.zip') || answer.path.includes('Copy.zip')) {
        answer.body = Buffer.from('new exceL');
      }
    };
    expect(await refused()).toBe('digest_mismatch');
    const other = await startOrigin({ id: 'r9', files: FILES });
    const foreign = await ask<{ attestation: Envelope }>(other.origin, '/v1/release');
    changingJson(world, '/v1/release', (body) => (body['attestation'] = foreign.attestation));
    expect(await refused()).toBe('origin_untrusted');

    // From here on the manifest must be read again: the edge keeps the one that it has checked.
    await world.publish('r3', new Map([...NEXT, ['TableBundles/Excel.zip', Buffer.from('third')]]));
    changingJson(world, '/v1/distribution', (page) => {
      page['snapshot_id'] = `blake3:${'a'.repeat(64)}`;
    });
    expect(await refused()).toBe('origin_pages_mixed');
    changingJson(world, '/v1/distribution', (page) => {
      const [entry] = page['items'] as Record<string, unknown>[];
      if (entry !== undefined) entry['blake3'] = 'a'.repeat(64);
    });
    expect(await refused()).toBe('origin_manifest_differs');

    world.proxy.change = null;
    await edge.succeed('sync');
    await untilServed(edge, 'r3');
    changingJson(world, '/v1/release', (body) => (body['attestation'] = older.attestation));
    expect((await edge.run('sync')).failure_code).toBe('origin_rolled_back');
    await untilServed(edge, 'r3');
  });

  it('makes the edge tell a failed sync only until it can be followed again', async () => {
    const world = await startOrigin({ id: 'r1', files: FILES });
    const edge = await world.startEdge();
    await untilServed(edge, 'r1');
    const other = await startOrigin({ id: 'r9', files: FILES });
    const foreign = Buffer.from(JSON.stringify(await ask(other.origin, '/v1/release')));
    world.proxy.change = (answer) => {
      if (answer.path === '/v1/release') Object.assign(answer, { status: 200, body: foreign });
    };
    expect((await edge.run('sync')).failure_code).toBe('origin_untrusted');
    const reason = async (): Promise<string | null> =>
      (await ask<{ service: { reason: string | null } }>(edge, '/healthz')).service.reason;
    await until(async () => (await reason()) === 'SyncFailed');
    const looks = world.proxy.seen.length;
    await until(() => world.proxy.seen.length > looks + 1);
    world.proxy.change = null;
    // The next scheduled sync is minutes away.
    await until(async () => (await reason()) === null, 20_000);
  });

  it('is refused when it mixes the pages of two releases', async () => {
    // More entries than a page has, and few objects.
    const files = new Map(
      Array.from({ length: 1005 }, (_, at) => [`data/${String(at).padStart(4, '0')}`, Buffer.from('same')]),
    );
    const last = 'data/1004';
    const world = await startOrigin({ id: 'r1', files });
    const edge = await world.startEdge({ slipway: { pollSeconds: 3600 } });
    await untilServed(edge, 'r1');
    const pageOf = async (id: string): Promise<Record<string, unknown>> =>
      await ask(world.origin, `/v1/distribution?release_id=${id}&offset=1000&limit=1000`);
    const older = await pageOf('r1');
    await world.publish('r2', new Map([...files, [last, Buffer.from('other')]]));
    const newer = await pageOf('r2');
    expect(older['items']).not.toEqual(newer['items']);
    const refused = async (second: object): Promise<string | null> => {
      world.proxy.change = (answer) => {
        if (answer.path.includes('offset=1000')) answer.body = Buffer.from(JSON.stringify(second));
      };
      const { failure_code: code } = await edge.run('sync');
      await untilServed(edge, 'r1');
      expect(await bytesOf(edge, 'r2', last)).toBe(404);
      return code;
    };
    expect(await refused(older)).toBe('origin_pages_mixed');
    // As if it were of the newer one.
    expect(await refused({ ...newer, items: older['items'] })).toBe('origin_manifest_differs');
    world.proxy.change = null;
    await edge.succeed('sync');
    await untilServed(edge, 'r2');
    expect(await bytesOf(edge, 'r2', last)).toEqual(Buffer.from('other'));
  });
});
