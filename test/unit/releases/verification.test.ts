import type { ReleaseParts } from '../../../src/releases/release-parts.ts';
import { partial } from '../../support/partial.ts';
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Attestor } from '../../../src/releases/attest/attestor.ts';
import { createReleaseCheck, type ReleaseCheck } from '../../../src/releases/checks/release-check.ts';
import { createReleaseDamage } from '../../../src/releases/checks/release-damage.ts';
import { STORE_WATCH_MS } from '../../../src/releases/checks/store-watch.ts';
import { createStoredObjectInspector } from '../../../src/releases/checks/stored-object-inspector.ts';
import { verifyReleases } from '../../../src/releases/checks/verify-task.ts';
import { STORE_CHECK_MAX_AGE_MS } from '../../../src/daemon/reports/doctor-checks.ts';
import type { TaskContext } from '../../../src/engine/tasks/task.ts';
import { manifestDigestOf } from '../../../src/domain/release/digest.ts';
import { noFailpoints } from '../../../src/platform/files/failpoints.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { manifestPath, objectPath } from '../../../src/snapshot/volume/layout.ts';
import { openWriterAt } from '../../support/open-writer.ts';
import { createSyncedWorld, type World } from '../../support/release-world.ts';
import { askReport } from '../../support/reports.ts';
import { until } from '../../support/until.ts';

/** Puts the right bytes back, as an administrator with a backup does. */
async function restore(world: World, content: string | Buffer): Promise<void> {
  const path = objectPath(world.root, blake3Hex(Buffer.from(content)));
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
}

const integrity = async (world: World): Promise<unknown> =>
  (await askReport(world.releases.reports, 'release.list')).releases[0]?.artifact_integrity;

/** The check of releases as the daemon has it. */
async function createCheck(world: World): Promise<ReleaseCheck> {
  const pool = createHashPool({ threads: 1 });
  onTestFinished(async () => await pool.close());
  const { repository: releases, catalogs, objects } = world.releases;
  const common = {
    root: world.root,
    database: world.database,
    releases,
    catalogs,
    objects,
    pool,
    clock: world.clock,
  };
  const writer = await openWriterAt({ ...common, failpoints: noFailpoints });
  return createReleaseCheck({
    ...common,
    writer,
    damage: createReleaseDamage(common),
    attestation: { issue: async () => undefined, isPending: () => false },
    inspector: createStoredObjectInspector({ ...common, storeId: writer.storeId }),
    concurrency: () => 1,
  });
}

const context = {
  signal: new AbortController().signal,
  progress: () => undefined,
  log: () => undefined,
  args: {},
  commit: async (write: () => unknown) => await write(),
} as unknown as TaskContext;

describe('a verification', () => {
  test('release.list names the time of the last full verification, also when it found damage', async () => {
    const world = await createSyncedWorld();
    const syncedAt = Math.floor(world.clock.now() / 1000);
    await world.clock.advance(3_600_000);
    await world.act('refresh');
    expect(await integrity(world)).toMatchObject({ checked_at: syncedAt, ok: true });
    await world.damage('two', 'TWO');
    await world.act('verify');
    expect(await integrity(world)).toMatchObject({ checked_at: syncedAt + 3600, ok: false });
  });

  test('a verification clears the damage of a server-info document that is sound again', async () => {
    const world = await createSyncedWorld();
    await world.damage(world.upstream.serverInfo!, null);
    expect((await world.act('verify')).status).toBe('failed');
    await restore(world, world.upstream.serverInfo!);
    expect(await world.act('verify')).toMatchObject({ status: 'succeeded', result: { damaged: 0 } });
    expect(world.row('1.0')).toBe('current');
  });

  test('a verification that read an object before it was repaired does not withdraw the release again', async () => {
    const world = await createSyncedWorld();
    const { repository: releases } = world.releases;
    const check = await createCheck(world);
    const release = releases.current('official')!;
    const path = objectPath(world.root, blake3Hex(Buffer.from('two')));
    await world.damage('two', 'TWO');
    const findings = await check.full(release, context);
    expect(findings.damaged).toHaveLength(1);
    await chmod(path, 0o644);
    await writeFile(path, 'two');
    await check.record(release, findings, { bytes: true, finder: 'verify' });
    expect(world.row('1.0')).toBe('current');
    await writeFile(path, 'TWO');
    await check.record(release, findings, { bytes: true, finder: 'verify' });
    expect(world.row('1.0')).toBe('damaged');
  });

  test('an object of another size counts as missing, as servers count it', async () => {
    const world = await createSyncedWorld();
    await world.damage('two', 'tw');
    await world.damage('one', 'ONE');
    expect(await world.act('verify')).toMatchObject({
      status: 'failed',
      failure_reason: '1 missing and 1 damaged files in release 1.0: a and 1 more',
    });
    expect(world.attested().official?.failure).toEqual({
      reason: 'EntryDamaged',
      entry_count: 2,
      missing_count: 1,
      examples: ['a', 'b'],
    });
  });

  test('a verification names the damage that it found, although a repair ends before it does', async () => {
    const world = await createSyncedWorld();
    const parts: ReleaseParts = partial({
      releases: world.releases.repository,
      check: await createCheck(world),
      attestor: {
        issue: async () => {
          expect(await world.act('repair')).toMatchObject({ status: 'succeeded' });
        },
      } as unknown as Attestor,
    });
    await world.damage('two', 'TWO');
    await expect(verifyReleases(parts, { ...context, args: { force: false } })).rejects.toMatchObject({
      code: 'damage_found',
      message: '1 damaged file in release 1.0: b',
      details: { damaged: 1, releases: [{ damaged: 1, damaged_entries: [{ destination: 'b' }] }] },
    });
    expect(world.row('1.0')).toBe('current');
  });

  test('damage is counted by finder and kind, and once while it lasts', async () => {
    const world = await createSyncedWorld();
    const found = (): readonly unknown[] => world.releases.damage.found().filter(({ count }) => count > 0);
    expect(found()).toEqual([]);
    await world.damage('one', null);
    await world.damage('two', 'TWO');
    await world.act('verify');
    await world.act('verify');
    expect(found()).toEqual([
      { finder: 'verify', kind: 'missing', count: 1 },
      { finder: 'verify', kind: 'damaged', count: 1 },
    ]);
  });

  test('a manifest that was lost is counted as missing, once', async () => {
    const world = await createSyncedWorld();
    const release = world.releases.repository.current('official')!;
    await rm(manifestPath(world.root, manifestDigestOf(release.snapshot_id!)!));
    await world.act('verify');
    await world.act('verify');
    expect(world.releases.damage.found()).toContainEqual({ finder: 'verify', kind: 'missing', count: 1 });
  });
});

const { request: REQUEST_AGE_MS, interval: INTERVAL_AGE_MS } = STORE_CHECK_MAX_AGE_MS;

const verification = (world: World): unknown =>
  world.releases.diagnostics().find(({ id }) => id === 'verification');

describe('the watch on the store', () => {
  const synced = async (automaticRepair: boolean): Promise<World> =>
    await createSyncedWorld(undefined, { automaticRepair });

  test.each(['manifests', 'objects'])(
    'a lost folder "%s" is noticed without a request, and repaired',
    async (name) => {
      const world = await synced(true);
      const { version } = world.attested();
      await rm(join(world.root, name), { recursive: true });
      await until(async () => {
        await world.clock.advance(STORE_WATCH_MS);
        return world.attested().version > version && world.row('1.0') === 'current';
      });
      expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
    },
  );

  test('the doctor looks at manifests and objects before it says that all is well', async () => {
    const world = await synced(false);
    await world.releases.checkStore(60_000, REQUEST_AGE_MS);
    expect(verification(world)).toMatchObject({ status: 'ok' });
    await world.clock.advance(STORE_WATCH_MS * 2);
    await world.damage('two', null);
    await world.releases.checkStore(60_000, REQUEST_AGE_MS);
    expect(verification(world)).toMatchObject({
      status: 'failing',
      message: '1 missing file in release 1.0: b. Run repair.',
    });
    expect(world.attested().official?.failure).toMatchObject({ reason: 'EntryMissing', examples: ['b'] });
  });

  test('the objects are looked at without a request only when the last look is a quarter of an hour old', async () => {
    const world = await synced(false);
    await world.releases.checkStore(60_000, INTERVAL_AGE_MS);
    await world.damage('two', null);
    await world.clock.advance(INTERVAL_AGE_MS - 1);
    await world.releases.checkStore(60_000, INTERVAL_AGE_MS);
    expect(verification(world)).toMatchObject({ status: 'ok' });
    await world.clock.advance(1);
    await world.releases.checkStore(60_000, INTERVAL_AGE_MS);
    expect(verification(world)).toMatchObject({ status: 'failing' });
  });

  test.each([
    ['is removed', async (path: string) => await rm(path)],
    ['is damaged', async (path: string) => await writeFile(path, '\0\0')],
    [
      'is JSON that says nothing',
      async (path: string) =>
        await writeFile(path, (await readFile(path, 'utf8')).replace('store_id', 'rtore_id')),
    ],
    [
      'names another program',
      async (path: string) =>
        await writeFile(path, (await readFile(path, 'utf8')).replace('slipway', 'slipwax')),
    ],
    [
      'names a version that never was',
      async (path: string) => await writeFile(path, (await readFile(path, 'utf8')).replace(':1,', ':0,')),
    ],
    ['becomes a folder', async (path: string) => await rm(path).then(async () => await mkdir(path))],
  ])('FORMAT is written again when it %s', async (_what, lose) => {
    const world = await synced(true);
    const path = join(world.root, 'FORMAT');
    const before = await readFile(path, 'utf8');
    await lose(path);
    await until(async () => {
      await world.clock.advance(STORE_WATCH_MS);
      return (await readFile(path, 'utf8').catch(() => '')) === before;
    });
    expect(world.row('1.0')).toBe('current');
    expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
  });

  test('without a proof whose store it is, FORMAT stays lost and every task says store_unavailable', async () => {
    const world = await synced(true);
    await rm(join(world.root, 'FORMAT'));
    await rm(join(world.root, 'attest'), { recursive: true });
    await world.clock.advance(STORE_WATCH_MS * 2);
    for (const action of ['sync', 'verify', 'repair', 'release-cleanup']) {
      expect(await world.act(action), action).toMatchObject({ failure_code: 'store_unavailable' });
    }
    expect(await readdir(world.root)).not.toContain('FORMAT');
    expect(world.row('1.0')).toBe('current');
  });

  test('a volume that is not there withdraws nothing', async () => {
    const world = await synced(true);
    await rename(world.root, `${world.root}-away`);
    await world.clock.advance(STORE_WATCH_MS * 2);
    await world.releases.checkStore(60_000, REQUEST_AGE_MS);
    expect(world.row('1.0')).toBe('current');
    await rename(`${world.root}-away`, world.root);
  });

  test('a manifest that a server reports is checked by the daemon and written again', async () => {
    const world = await synced(true);
    const { snapshot_id: snapshotId } = world.attested().official ?? {};
    const blake3 = snapshotId === undefined ? null : manifestDigestOf(snapshotId);
    if (blake3 === null) throw new Error('no snapshot is attested');
    const report = {
      blake3,
      destination: '(manifest)',
      kind: 'damaged' as const,
      message: 'found by a test',
    };
    const { version } = world.attested();
    expect(world.releases.reportDamage([report])).toEqual({ accepted: 1, ignored: 0 });
    await world.damageManifest(snapshotId ?? '');
    world.releases.reportDamage([report]);
    await until(() => {
      world.releases.reportDamage([report]);
      return world.attested().version > version && world.row('1.0') === 'current';
    });
    expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
  });
});
