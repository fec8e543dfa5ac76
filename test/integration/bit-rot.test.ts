import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { canMountImages, mountImage, type DiskImage } from '../support/disk-image.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSystem, type TestSystem, WITHOUT_TEXTS } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const LARGE = 'MediaResources/Movie/Opening.mp4';
const POSITION = 3_000_000;

interface Rotting {
  readonly system: TestSystem;
  readonly disk: DiskImage;
  readonly bytes: Buffer;
  readonly path: string;
}

/** A system on a disk that a test can let rot. */
async function startOnDisk(scrub: object, atEnd: AtEnd = onTestFinished): Promise<Rotting> {
  const disk = await mountImage(96, atEnd);
  const upstream = await temporaryDirectory(atEnd);
  const files = sampleFiles();
  await writeReleaseTree(upstream, { id: 'r90_one', files });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    snapshotRoot: join(disk.directory, 'snapshot'),
    daemon: WITHOUT_TEXTS,
    server: { scrub },
    atEnd,
  });
  await system.untilReady(true);
  const page = await fetch(`${system.serverUrl}/v1/distribution?destination=${encodeURIComponent(LARGE)}`);
  const { blake3 } = ((await page.json()) as { items: { blake3: string }[] }).items[0]!;
  const path = join(system.snapshotRoot, 'objects', blake3.slice(0, 2), blake3.slice(2));
  return { system, disk, bytes: Buffer.from(files.get(LARGE)!), path };
}

async function get({ system }: Rotting, fields: Readonly<Record<string, string>> = {}): Promise<Response> {
  return await fetch(system.cdn(LARGE), { headers: fields });
}

/** Whether an answer has the right bytes. A refusal is right as well; anything else fails the test. */
async function isServed(rotting: Rotting, fields: Readonly<Record<string, string>> = {}): Promise<boolean> {
  const answer = await get(rotting, fields);
  if (answer.status === 503) return false;
  expect(answer.status).toBe(200);
  // A connection that is cut in the middle rejects.
  const body = await answer.arrayBuffer().catch(() => null);
  if (body === null) return false;
  expect(Buffer.from(body).equals(rotting.bytes)).toBe(true);
  return true;
}

describe.runIf(canMountImages())('a disk that rots under the file system', () => {
  /** Each test repairs what it damages. */
  const reused = reusedFixture(async (atEnd) => await startOnDisk({ enabled: false }, atEnd));

  it('never makes the server send a wrong byte, and the repair is served without a restart', async () => {
    const rotting = await reused();
    for (let i = 0; i < 3; i += 1) expect(await isServed(rotting)).toBe(true);
    rotting.disk.rot(rotting.path, POSITION);
    rotting.disk.evict(rotting.path);
    // From memory, which was hashed when it was read.
    expect(await isServed(rotting)).toBe(true);
    expect(await isServed(rotting, { 'cache-control': 'no-cache' })).toBe(false);
    await rotting.system.untilReady(false);
    await rotting.system.succeed('repair');
    await rotting.system.untilReady(true);
    expect(await isServed(rotting)).toBe(true);
    expect(await isServed(rotting, { 'cache-control': 'no-cache' })).toBe(true);
  });

  it('is found by verify behind a good copy in the page cache', async () => {
    const rotting = await reused();
    expect(await isServed(rotting, { 'cache-control': 'no-cache' })).toBe(true);
    rotting.disk.rot(rotting.path, POSITION);
    // The page cache has the good bytes: the server reads and hashes these.
    expect(await isServed(rotting, { 'cache-control': 'no-cache' })).toBe(true);
    expect(await rotting.system.run('verify')).toMatchObject({ failure_code: 'damage_found' });
    expect(await rotting.system.untilReady(false)).toMatchObject({ reason: 'EntryDamaged' });
    expect(await isServed(rotting)).toBe(false);
    await rotting.system.succeed('repair');
    await rotting.system.untilReady(true);
    rotting.disk.evict(rotting.path);
    expect(await isServed(rotting, { 'cache-control': 'no-cache' })).toBe(true);
  });

  it('is found by the scrub behind a good copy in the page cache, and the daemon withdraws the release', async () => {
    const rotting = await startOnDisk({ enabled: true, restSeconds: 1 });
    expect(await isServed(rotting, { 'cache-control': 'no-cache' })).toBe(true);
    rotting.disk.rot(rotting.path, POSITION);
    expect(await rotting.system.untilReady(false)).toMatchObject({ reason: 'EntryDamaged' });
    await until(async () => {
      const report = await (await rotting.system.askDaemon('/v1/reports/release.status')).json();
      return (report as { official: { integrity: string } }).official.integrity === 'damaged';
    });
  });
});
