import { execFile } from 'node:child_process';
import { sign } from 'node:crypto';
import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { preAuthenticationEncoding } from '../../src/attestation/dsse.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { objectPath } from '../../src/snapshot/volume/layout.ts';
import { createKeyPair } from '../support/attestations.ts';
import { bytesOf, publicKeyOf, startOrigin, untilServed, type OriginWithEdges } from '../support/edge.ts';
import { sampleFiles } from '../support/release-tree.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { CDN_HOST, startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const EXCEL = 'TableBundles/Excel.zip';
const MOVIE = 'MediaResources/Movie/Opening.mp4';
const SERVER_INFO = { AddressablesCatalogUrlRoot: 'https://upstream.example/a' };
const FILES = sampleFiles(1);
/** The same release with one other file, and one more file with the bytes of another. */
const NEXT = new Map([
  ...FILES,
  [EXCEL, Buffer.from('new excel')],
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

/** An origin with edges that several tests share. Each publishes releases of its own, and leaves all of them whole. */
interface SharedWorld {
  readonly world: OriginWithEdges;
  /** It looks at the origin each second. */
  readonly edge: TestSystem;
  /** It syncs only when it is asked to. */
  readonly quiet: TestSystem;
}

let releases = 0;

/** The id of a release that no test has published yet. */
function newId(): string {
  releases += 1;
  return `r${releases}`;
}

async function startShared(atEnd: AtEnd): Promise<SharedWorld> {
  const first = { id: newId(), files: FILES, serverInfo: SERVER_INFO };
  const world = await startOrigin(first, { attestation: { ttlSeconds: 3600 } }, {}, atEnd);
  const [edge, quiet] = await Promise.all([
    world.startEdge({ atEnd, daemon: { sync: { intervalSeconds: 0 } } }),
    world.startEdge({ atEnd, slipway: { pollSeconds: 3600 }, daemon: { sync: { intervalSeconds: 0 } } }),
  ]);
  // From here on the quiet one asks the origin for nothing by itself.
  await untilServed(quiet, first.id);
  await quiet.succeed('sync');
  return { world, edge, quiet };
}

/**
 * Waits until the edge serves a release with these files, and forgets what the tests before did. The release may be that of the test
 * before: to publish one takes seconds of six processes.
 *
 * @returns its id
 */
async function begin(
  { world, ...edges }: SharedWorld,
  files: ReadonlyMap<string, Buffer> = FILES,
  follower: 'edge' | 'quiet' = 'edge',
): Promise<string> {
  const id = await offered(world, files);
  if (follower === 'quiet') await edges.quiet.succeed('sync');
  await untilServed(edges[follower], id);
  world.proxy.seen.length = 0;
  return id;
}

/** The id of the release with these files that the origin serves; publishes one when it is another one. */
async function offered(world: OriginWithEdges, files: ReadonlyMap<string, Buffer>): Promise<string> {
  Object.assign(world.proxy, { change: null, isDown: false });
  const { latest } = world;
  const isSame =
    latest.files.size === files.size && [...files].every(([name, bytes]) => latest.files.get(name) === bytes);
  if (isSame) return latest.id;
  const id = newId();
  await world.publish(id, files);
  return id;
}

const PATCHED_FILE = 'Windows_PatchPack/日本語.json';

/**
 * Publishes a localized release at the origin, whose only patched file is {@link PATCHED_FILE}.
 *
 * @returns its id, and the bytes of that file, which no other test has
 */
async function publishLocalized(
  { origin }: OriginWithEdges,
  base: string,
): Promise<{ readonly localizedId: string; readonly patched: Buffer }> {
  const localizedId = `${newId()}-of-${base}`;
  const patched = Buffer.from(`{"TextJp":"老师","Release":"${localizedId}"}`);
  const exchange = join(origin.directory, 'data', 'exchange');
  await mkdir(exchange, { recursive: true });
  await writeFile(join(exchange, 'patched.json'), patched);
  const entry = {
    destination: PATCHED_FILE,
    file: 'patched.json',
    blake3: blake3Hex(patched),
    size: patched.length,
  };
  const manifest = { base_release_id: base, entries: [entry] };
  await writeFile(join(exchange, 'patches.json'), JSON.stringify(manifest));
  await origin.succeed('localized-publish', {
    patch_manifest: 'patches.json',
    localized_release_id: localizedId,
    reviewer: 'Rin',
    // A test before can have withdrawn the channel.
    args: ['resume=true'],
  });
  return { localizedId, patched };
}

/** Changes the bytes of an object on the volume of a system, and lets its daemon find that. */
async function damage(system: TestSystem, bytes: Buffer): Promise<void> {
  await rewrite(system, bytes, Buffer.from(bytes).fill(1, 0, 10));
}

/** Takes the damage back. */
async function heal(system: TestSystem, bytes: Buffer): Promise<void> {
  await rewrite(system, bytes, bytes);
}

async function rewrite(system: TestSystem, bytes: Buffer, content: Buffer): Promise<void> {
  const path = objectPath(system.snapshotRoot, blake3Hex(bytes));
  await chmod(path, 0o644);
  await writeFile(path, content);
  await chmod(path, 0o444);
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

/** The `Last-Modified` of a file under the current path of each system, milliseconds. */
async function datesOf(...systems: readonly TestSystem[]): Promise<readonly number[]> {
  return await Promise.all(
    systems.map(async ({ serverUrl }) => {
      const { headers } = await fetch(`${serverUrl}/${CDN_HOST}/TableBundles/Excel.zip`, { method: 'HEAD' });
      return Date.parse(headers.get('last-modified') ?? '');
    }),
  );
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

/** A page of a difference as if it were from another snapshot. */
function withoutSnapshot(page: Buffer): Buffer {
  return Buffer.from(
    page.toString().replace(/"since":"blake3:[0-9a-f]{64}"/, `"since":"blake3:${'0'.repeat(64)}"`),
  );
}

const shared = reusedFixture(startShared);

describe('an edge', () => {
  it('copies the release of its origin byte for byte, follows a switch with the missing files only, and idles cheaply', async () => {
    const parts = await shared();
    const { world, edge } = parts;
    await begin(parts);
    const files = sampleFiles(2);
    const first = newId();
    await world.publish(first, files);
    await untilServed(edge, first);
    await expectSame(edge, world.origin, files);
    const document = await ask<Record<string, unknown>>(edge, '/v1/server-info');
    expect(document['AddressablesCatalogUrlRoot']).toMatch(`${edge.serverUrl}/`);
    // Of the files that do not depend on the seed, it has the objects.
    const changed = [...files].filter(([name, bytes]) => FILES.get(name)?.equals(bytes) !== true);
    expect(filesAsked(world)).toHaveLength(changed.length);

    // While nothing changes, each look is one small request, whose answer has no body.
    await until(() => world.proxy.seen.at(-1)?.status === 304);
    const before = world.proxy.seen.length;
    await until(() => world.proxy.seen.length >= before + 3);
    const idle = world.proxy.seen.slice(before).filter(({ path }) => path === '/v1/release');
    expect(idle.map(({ status, bytes }) => [status, bytes])).toContainEqual([304, 0]);
    expect(world.proxy.seen.slice(before).every(({ path }) => path === '/v1/release')).toBe(true);

    world.proxy.seen.length = 0;
    const next = new Map([
      ...files,
      [EXCEL, Buffer.from('newer excel')],
      ['TableBundles/Copy.zip', Buffer.from('newer excel')],
    ]);
    const second = newId();
    await world.publish(second, next);
    const switchedAt = performance.now();
    await untilServed(edge, second);
    // Until the edge knows of the switch, no look after it finds nothing: the edge is late by the interval and the transfer, and not by
    // more. It looks on while it copies, which takes long on a busy machine.
    const looks = world.proxy.seen.filter(({ path }) => path === '/v1/release');
    const knows = looks.findIndex(({ status }) => status === 200);
    expect(knows).not.toBe(-1);
    expect(looks.slice(0, knows).filter(({ arrivedAt }) => arrivedAt >= switchedAt)).toEqual([]);
    await expectSame(edge, world.origin, next);
    // Two destinations, one object.
    expect(filesAsked(world)).toHaveLength(1);
    expect(await bytesOf(edge, first, EXCEL)).toEqual(files.get(EXCEL));
  });

  it('is told only what differs from a release that it has, and can fetch all files of the new one again', async () => {
    const parts = await shared();
    const { world, quiet: edge } = parts;
    const many = Array.from(
      { length: 1500 },
      (_, at) => [`data/${at}`, Buffer.from(`same ${at % 3}`)] as const,
    );
    const earlier = new Map([...FILES, ...many, ['data/gone', Buffer.from('gone')]]);
    // The other edge follows through the same proxy.
    await untilServed(parts.edge, await begin(parts, earlier, 'quiet'));
    world.proxy.seen.length = 0;
    const files = new Map([
      ...FILES,
      ...many,
      [EXCEL, Buffer.from('changed')],
      ['data/new', Buffer.from('new')],
    ]);
    const id = newId();
    await world.publish(id, files);
    await edge.succeed('sync');
    await untilServed(edge, id);
    await untilServed(parts.edge, id);
    const pagesAsked = (): readonly (readonly [boolean, boolean])[] =>
      world.proxy.seen
        .filter(({ path }) => path.startsWith('/v1/distribution'))
        .map(({ path, bytes }) => [path.includes('since=blake3'), bytes < 4096]);
    expect(pagesAsked()).toContainEqual([true, true]);
    expect(pagesAsked().every(([isDifference, isSmall]) => isDifference && isSmall)).toBe(true);
    expect(new Set(filesAsked(world)).size).toBe(2);
    await expectSame(edge, world.origin, new Map([...FILES, [EXCEL, Buffer.from('changed')]]));
    expect(await bytesOf(edge, id, 'data/gone')).toBe(404);
    const movie = FILES.get(MOVIE) ?? Buffer.alloc(0);
    await damage(edge, movie);
    await edge.succeed('repair');
    expect(await readFile(objectPath(edge.snapshotRoot, blake3Hex(movie)))).toEqual(movie);
    expect(filesAsked(world)).toContainEqual(expect.stringContaining(`/${id}/${MOVIE}`));

    // A localized release differs from its base by its patched files.
    world.proxy.seen.length = 0;
    const { localizedId, patched } = await publishLocalized(world, id);
    await edge.succeed('sync');
    await until(async () => Buffer.isBuffer(await bytesOf(edge, localizedId, PATCHED_FILE)));
    expect(await bytesOf(edge, localizedId, PATCHED_FILE)).toEqual(patched);
    expect(pagesAsked()).toContainEqual([true, true]);
    expect(pagesAsked().every(([isDifference, isSmall]) => isDifference && isSmall)).toBe(true);
    await world.origin.succeed('localized-rollback', { reviewer: 'Rin', reason: 'the end of the test' });
    await edge.succeed('sync');
  });

  it('follows its origin back to an earlier release without fetching anything, and shows that while it lasts', async () => {
    const parts = await shared();
    const { world, edge } = parts;
    const first = await begin(parts);
    const { release } = await ask<CurrentRelease>(world.origin, '/v1/release');
    // Dates are whole seconds.
    await until(() => Date.now() / 1000 > release.created_at + 1);
    const dates = [await datesOf(world.origin, edge)];
    const second = newId();
    await world.publish(second, NEXT);
    await untilServed(edge, second);
    dates.push(await datesOf(world.origin, edge));
    const fetched = filesAsked(world).length;
    const wentBack = async (): Promise<unknown> => {
      const report = (await (await edge.askDaemon('/v1/reports/release.status')).json()) as {
        readonly origin: { readonly not_followed: null; readonly went_back: object | null };
      };
      return report.origin.went_back;
    };
    expect(await wentBack()).toBeNull();
    await world.publish(first, FILES);
    await untilServed(edge, first);
    await expectSame(edge, world.origin, FILES);
    dates.push(await datesOf(world.origin, edge));
    // Clients that compare dates follow both switches, at the origin and at the edge.
    for (const system of [0, 1]) {
      const own = dates.map((each) => each[system] ?? 0);
      expect(own).toEqual([...new Set(own)].toSorted((left, right) => left - right));
    }
    expect(filesAsked(world)).toHaveLength(fetched);
    // Clients that learned of the other one finish with it.
    expect(await bytesOf(edge, second, 'TableBundles/Copy.zip')).toEqual(Buffer.from('new excel'));
    const steps = { release_id: first, from_release_id: second };
    await until(async () => {
      expect(await wentBack()).toMatchObject({ channel: 'official', ...steps });
      return true;
    });
    const tasks = (await (await edge.askDaemon('/v1/reports/task.list')).json()) as {
      readonly items: ReadonlyArray<{ readonly kind: string; readonly result: object | null }>;
    };
    expect(tasks.items.map(({ result }) => result)).toContainEqual(
      expect.objectContaining({ went_back_from: second, went_back_to: first }),
    );
    await begin(parts, NEXT);
    expect(await wentBack()).toBeNull();
  });

  it('continues an interrupted file where it stopped', async () => {
    const parts = await shared();
    const { world, edge } = parts;
    await begin(parts);
    world.proxy.change = (answer) => {
      if (!answer.path.includes('Opening')) return;
      answer.cutAfter = 3 * 1024 * 1024;
      world.proxy.change = null;
    };
    const files = sampleFiles(3);
    const id = newId();
    await world.publish(id, files);
    await untilServed(edge, id);
    expect(await bytesOf(edge, id, MOVIE)).toEqual(files.get(MOVIE));
    const [cut, continued, ...more] = world.proxy.seen.filter(({ path }) => path.includes('Opening'));
    expect([cut?.status, continued?.status, more]).toEqual([200, 206, []]);
    expect(continued?.bytes).toBeLessThan(files.get(MOVIE)?.length ?? 0);
  });

  it('copies the localized channel, follows its withdrawal, and makes no localized release itself', async () => {
    const parts = await shared();
    const { world, edge } = parts;
    const id = await begin(parts);
    const { localizedId, patched } = await publishLocalized(world, id);
    await until(
      async () => Buffer.compare(patched, asBuffer(await bytesOf(edge, localizedId, PATCHED_FILE))) === 0,
    );
    expect(await bytesOf(edge, localizedId, MOVIE)).toEqual(FILES.get(MOVIE));
    expect(filesAsked(world).filter((path) => path.includes(localizedId))).toHaveLength(1);
    await expect(edge.control('localized-publish', { reviewer: 'Rin', from_worker: true })).rejects.toThrow(
      'channel_mirrored',
    );
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
    await world.origin.succeed('localized-rollback', { reviewer: 'Rin', reason: 'wrong' });
    await until(async () => (await localized(world.origin)) === 409);
    await until(async () => (await localized(edge)) === 409);
    await untilServed(edge, id);
    // The release that was taken back is of an earlier official one now, and none replaces it.
    await begin(parts, NEXT);
    await untilToldOfCopy(edge, ', which offers no release of it');
  });

  it('speaks of the origin while the localized release is damaged there, and repairs its own copy from there', async () => {
    const parts = await shared();
    const { world, edge, quiet } = parts;
    const id = await begin(parts);
    await untilToldOfCopy(edge, ', which offers no release of it');
    const { localizedId, patched } = await publishLocalized(world, id);
    await until(async () => Buffer.isBuffer(await bytesOf(edge, localizedId, PATCHED_FILE)));
    await damage(edge, patched);
    const copy = objectPath(edge.snapshotRoot, blake3Hex(patched));
    await until(async () => (await readFile(copy)).equals(patched));
    await until(async () => Buffer.isBuffer(await bytesOf(edge, localizedId, PATCHED_FILE)));

    await damage(world.origin, patched);
    // This one learns of the localized release only now.
    await quiet.succeed('sync');
    await untilServed(quiet, id);
    await untilToldOfCopy(quiet, `; the origin has damaged files of localized release ${localizedId}`);
    await heal(world.origin, patched);
    await world.origin.succeed('localized-rollback', { reviewer: 'Rin', reason: 'the end of the test' });
    await quiet.succeed('sync');
  });

  it('has the bytes of an announced release before it becomes current, takes an announcement back, and switches at the stated time', async () => {
    const releases = { announceSeconds: 3600, switchLeadSeconds: 12 };
    const world = await startOrigin({ id: 'r1', files: FILES }, { releases });
    const edge = await world.startEdge();
    await untilServed(edge, 'r1');
    const announcedBy = async (system: TestSystem): Promise<Announcing['announced']> =>
      (await ask<Announcing>(system, '/v1/release')).announced;
    const announce = async (id: string, excel: Buffer): Promise<void> => {
      await world.offer(id, new Map([...NEXT, [EXCEL, excel]]));
      await world.origin.succeed('sync');
      await until(async () => (await announcedBy(edge))?.release_id === id);
      // Both clocks are the one of this machine.
      expect((await announcedBy(edge))?.current_at).toBe((await announcedBy(world.origin))?.current_at);
      expect(await bytesOf(edge, id, EXCEL)).toEqual(excel);
    };
    await announce('r2', Buffer.from('new excel'));
    await untilServed(edge, 'r1');
    await world.offer('r1', FILES);
    await world.origin.succeed('sync');
    await until(async () => (await announcedBy(edge)) === null);
    await until(async () => (await bytesOf(edge, 'r2', EXCEL)) === 404);
    await untilServed(edge, 'r1');

    for (let number = 3, isLate = true; isLate; number += 1) {
      const id = `r${number}`;
      await announce(id, Buffer.from(`excel ${number}`));
      const { result } = await world.origin.succeed('refresh', { args: [`current=${id}`] });
      const currentAt = Number(result?.['current_at']);
      await until(async () => {
        const announced = await announcedBy(edge);
        return announced?.current_at === currentAt || announced === null;
      });
      // An edge needs no answer of its origin for the switch.
      world.proxy.isDown = true;
      // On a machine that stood still meanwhile, the edge can learn of the time after it. Then there is another release.
      isLate = Date.now() / 1000 >= currentAt;
      await untilServed(edge, id);
      expect(Date.now() / 1000).toBeGreaterThanOrEqual(currentAt);
      await untilServed(world.origin, id);
      world.proxy.isDown = false;
    }
    expect(await bytesOf(edge, 'r1', EXCEL)).toEqual(FILES.get(EXCEL));
  });

  it('is the origin of further edges, which trust its key and follow its switches', async () => {
    const parts = await shared();
    const { world, edge } = parts;
    const first = await begin(parts);
    const further = await startSystem({
      upstream: {
        kind: 'slipway',
        slipway: { url: edge.serverUrl, trustedKeys: [publicKeyOf(edge)], pollSeconds: 1 },
      },
    });
    await untilServed(further, first);
    const second = newId();
    await world.publish(second, NEXT);
    await untilServed(further, second);
    await expectSame(further, world.origin, NEXT);
  });

  it('does not copy damage of the disk of its origin', async () => {
    const parts = await shared();
    const { world, edge } = parts;
    const id = await begin(parts);
    const movie = FILES.get(MOVIE) ?? Buffer.alloc(0);
    const before = world.proxy.seen.length;
    await damage(world.origin, movie);
    await world.origin.untilReady(false);
    // The edge learns of it, and looks again.
    await until(() => world.proxy.seen.slice(before).some(({ status }) => status === 200));
    const looks = world.proxy.seen.length;
    await until(() => world.proxy.seen.length >= looks + 3);
    await untilServed(edge, id);
    expect(await bytesOf(edge, id, MOVIE)).toEqual(movie);
    await heal(world.origin, movie);
    await untilServed(world.origin, id);
  });
});

/** The attestation in the answer of `/v1/release`. */
type Envelope = Readonly<Record<'payload' | 'payloadType', string>>;

/** The same statement, with the signature of a key that no edge trusts. */
function signedByAnother({ payload, payloadType }: Envelope): object {
  const { signing } = createKeyPair();
  const signed = preAuthenticationEncoding(payloadType, Buffer.from(payload, 'base64'));
  const signature = sign(null, signed, signing.privateKey).toString('base64');
  return { payload, payloadType, signatures: [{ keyid: signing.keyId, sig: signature }] };
}

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

/** An origin without edges, for tests that start their own ones. */
const origin = reusedFixture(
  async (atEnd) =>
    await startOrigin({ id: newId(), files: FILES }, { attestation: { ttlSeconds: 3600 } }, {}, atEnd),
);

/** Publishes a release at the origin without edges, and forgets what the tests before did. */
async function beginWithoutEdges(
  files: ReadonlyMap<string, Buffer> = FILES,
): Promise<{ readonly world: OriginWithEdges; readonly id: string }> {
  const world = await origin();
  const id = await offered(world, files);
  world.proxy.seen.length = 0;
  return { world, id };
}

describe('a new edge', () => {
  it('is not ready, and serves nothing, until it is whole; then it has the earlier releases that its origin retains, too', async () => {
    const { id: earlier } = await beginWithoutEdges();
    const { world, id } = await beginWithoutEdges(NEXT);
    // A refusal, which is not tried again.
    world.proxy.change = (answer) => {
      if (answer.path.includes('Opening')) answer.status = 400;
    };
    const edge = await world.startEdge();
    await until(() => world.proxy.seen.some(({ status }) => status === 400));
    // Everything else is here.
    expect((await edge.run('sync')).failure_code).toBe('upstream_status');
    const ready = await fetch(`${edge.serverUrl}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      expect.objectContaining({ distributable: false, release_id: null }),
    ]);
    for (const destination of NEXT.keys()) expect(await bytesOf(edge, id, destination)).toBe(503);
    world.proxy.change = null;
    await edge.succeed('sync');
    await untilServed(edge, id);
    await expectSame(edge, world.origin, NEXT);
    await expectVerified(world, edge);
    await until(async () => Buffer.isBuffer(await bytesOf(edge, earlier, EXCEL)));
    expect(await bytesOf(edge, earlier, EXCEL)).toEqual(FILES.get(EXCEL));
    // The two releases share all other objects.
    expect(filesAsked(world).filter((path) => path.includes(`/${earlier}/`))).toHaveLength(1);

    world.proxy.seen.length = 0;
    const none = await world.startEdge({ daemon: { retention: { retainedCount: 0, retainedSeconds: 0 } } });
    await untilServed(none, id);
    expect(await bytesOf(none, earlier, EXCEL)).toBe(404);
    // Two destinations of the release have one object.
    expect(filesAsked(world)).toHaveLength(NEXT.size - 1);
  });
});

/** Has the program check an edge from outside, against its origin. */
async function expectVerified({ origin }: OriginWithEdges, edge: TestSystem): Promise<void> {
  const keys = ['--keys', publicKeyOf(edge), '--keys', publicKeyOf(origin)];
  const argv = ['verify', '--url', edge.serverUrl, ...keys, '--against', origin.serverUrl];
  const { stdout } = await promisify(execFile)(process.execPath, ['cmd/slipway.ts', ...argv]);
  expect(stdout).toMatch(/all releases intact\n$/);
  // Without the key of the edge, its word counts for nothing.
  const foreign = ['verify', '--url', edge.serverUrl, '--keys', publicKeyOf(origin)];
  await expect(promisify(execFile)(process.execPath, ['cmd/slipway.ts', ...foreign])).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringContaining('origin_untrusted'),
  });
}

describe('an edge of an origin that wants a token', () => {
  it('copies with the token and within its limits, and with another one gets nothing', async () => {
    const folder = await temporaryDirectory();
    const [tokenFile, ownTokenFile] = [join(folder, 'origin.token'), join(folder, 'edge.token')];
    await writeFile(tokenFile, 'token-of-the-edges-1\n', { mode: 0o600 });
    await writeFile(ownTokenFile, 'token-of-a-stranger-1\n', { mode: 0o600 });
    const limits = { requestsPerSecond: 20, burst: 4, concurrentRequests: 4 };
    const world = await startOrigin(
      { id: 'r1', files: FILES },
      {},
      {
        auth: { public: 'token', tokens: [{ file: tokenFile, id: 'edges', limits }] },
      },
    );
    expect(await bytesOf(world.origin, 'r1', MOVIE)).toBe(401);
    const edge = await world.startEdge({
      slipway: { tokenFile: ownTokenFile },
      daemon: { upstream: { concurrency: 4 } },
    });
    const { failure_code: code, failure_reason: reason } = await edge.run('sync');
    expect([code, reason]).toEqual(['upstream_status', expect.stringContaining('status 401')]);
    await edge.untilReady(false);
    // The file can change while the edge runs.
    await copyFile(tokenFile, ownTokenFile);
    await untilServed(edge, 'r1');
    // Clients of the edge need no token.
    for (const [destination, bytes] of FILES) expect(await bytesOf(edge, 'r1', destination)).toEqual(bytes);
    for (const file of [tokenFile, ownTokenFile]) await writeFile(file, 'token-of-the-edges-2\n');
    await world.publish('r2', NEXT);
    await untilServed(edge, 'r2');
    expect(await bytesOf(edge, 'r2', 'TableBundles/Copy.zip')).toEqual(Buffer.from('new excel'));
  });
});

describe('an origin that lies', () => {
  it('is refused with a named code, and none of it is ever served', async () => {
    const parts = await shared();
    const { world, quiet: edge } = parts;
    const [first, second, third] = [await begin(parts, FILES, 'quiet'), newId(), newId()];
    const older = await ask<{ attestation: Envelope }>(world.origin, '/v1/release');
    await world.publish(second, new Map([...NEXT, [EXCEL, Buffer.from('second')]]));
    const refused = async (): Promise<string | null> => {
      const { failure_code: code } = await edge.run('sync');
      await untilServed(edge, first);
      expect(await bytesOf(edge, second, EXCEL)).toBe(404);
      return code;
    };

    world.proxy.change = (answer) => {
      if (answer.path.includes('Excel.zip')) answer.body = Buffer.from('seconD');
    };
    expect(await refused()).toBe('digest_mismatch');
    changingJson(world, '/v1/release', (body) => {
      body['attestation'] = signedByAnother(body['attestation'] as Envelope);
    });
    expect(await refused()).toBe('origin_untrusted');

    // From here on the manifest must be read again: the edge keeps the one that it has checked.
    await world.publish(third, new Map([...NEXT, [EXCEL, Buffer.from('third')]]));
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
    await untilServed(edge, third);
    changingJson(world, '/v1/release', (body) => (body['attestation'] = older.attestation));
    expect((await edge.run('sync')).failure_code).toBe('origin_rolled_back');
    await untilServed(edge, third);
  });

  it('makes the edge tell a failed sync only until it can be followed again', async () => {
    const parts = await shared();
    const { world, edge } = parts;
    await begin(parts);
    const current = await ask<{ attestation: Envelope }>(world.origin, '/v1/release');
    const foreign = { ...current, attestation: signedByAnother(current.attestation) };
    const body = Buffer.from(JSON.stringify(foreign));
    world.proxy.change = (answer) => {
      if (answer.path === '/v1/release') Object.assign(answer, { status: 200, body });
    };
    // The first one can join a sync that began before.
    await until(async () => (await edge.run('sync')).failure_code === 'origin_untrusted');
    const reason = async (): Promise<string | null> =>
      (await ask<{ service: { reason: string | null } }>(edge, '/healthz')).service.reason;
    await until(async () => (await reason()) === 'OriginNotFollowed');
    const looks = world.proxy.seen.length;
    await until(() => world.proxy.seen.length > looks + 1);
    world.proxy.change = null;
    // No sync is scheduled.
    await until(async () => (await reason()) === null);
  });

  it('is refused when it mixes the pages of two releases', async () => {
    // More entries than a page has, and few objects.
    const files = new Map(
      Array.from({ length: 1005 }, (_, at) => [`data/${String(at).padStart(4, '0')}`, Buffer.from('same')]),
    );
    const last = 'data/1004';
    const parts = await shared();
    const { world, quiet: edge } = parts;
    const [first, second] = [await begin(parts, files, 'quiet'), newId()];
    const pageOf = async (id: string): Promise<Record<string, unknown>> =>
      await ask(world.origin, `/v1/distribution?release_id=${id}&offset=1000&limit=1000`);
    const older = await pageOf(first);
    await world.publish(second, new Map([...files, [last, Buffer.from('other')]]));
    const newer = await pageOf(second);
    expect(older['items']).not.toEqual(newer['items']);
    const refused = async (page: object): Promise<string | null> => {
      world.proxy.change = (answer) => {
        // An edge that finds a difference of no use reads all pages.
        if (answer.path.includes('since=')) answer.body = withoutSnapshot(answer.body);
        if (answer.path.includes('offset=1000')) answer.body = Buffer.from(JSON.stringify(page));
      };
      const { failure_code: code } = await edge.run('sync');
      await untilServed(edge, first);
      expect(await bytesOf(edge, second, last)).toBe(404);
      return code;
    };
    expect(await refused(older)).toBe('origin_pages_mixed');
    // As if it were of the newer one.
    expect(await refused({ ...newer, items: older['items'] })).toBe('origin_manifest_differs');
    world.proxy.change = null;
    await edge.succeed('sync');
    await untilServed(edge, second);
    expect(await bytesOf(edge, second, last)).toEqual(Buffer.from('other'));
  });
});

describe('an edge without its origin', () => {
  it('serves for as long as it may, and not longer', async () => {
    // Edges that several tests share would wait before they ask the origin again.
    const { world, id } = await beginWithoutEdges();
    const edge = await world.startEdge({
      slipway: { maxAttestationAgeSeconds: 15 },
      daemon: { attestation: { ttlSeconds: 10 } },
    });
    // An attestation of the origin that is too old before the edge has started is of no use to it.
    await until(async () => {
      await world.origin.succeed('refresh');
      await untilServed(edge, id, 5_000);
      return true;
    });
    world.proxy.isDown = true;
    const downAt = Date.now() / 1000;
    await until(async () => {
      const { service } = await ask<{ service: { reason: string; message: string; since: number } }>(
        edge,
        '/healthz',
      );
      expect(service).toMatchObject({ reason: 'OriginNotFollowed' });
      expect(service.message).toMatch(
        /since [\dT:-]+Z \(upstream_\w+\); its releases are served until [\dT:-]+Z/,
      );
      expect(service.since).toBeGreaterThanOrEqual(Math.floor(downAt));
      return true;
    });
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
    });
    expect(Date.now() / 1000 - issuedAt).toBeGreaterThanOrEqual(15);
    await until(async () => {
      const { service } = await ask<{ service: { state: string; reason: string } }>(edge, '/healthz');
      return service.state === 'expired' && service.reason === 'OriginNotFollowed';
    });
    world.proxy.isDown = false;
    await world.origin.run('refresh');
    await untilServed(edge, id);
  });
});
