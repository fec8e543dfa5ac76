import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { Attestor } from '../../../../../src/daemon/releases/attest/attestor.ts';
import {
  createReleaseCheck,
  type ReleaseCheck,
} from '../../../../../src/daemon/releases/checks/release-check.ts';
import { createReleaseDamage } from '../../../../../src/daemon/releases/checks/release-damage.ts';
import { createStoredObjectInspector } from '../../../../../src/daemon/releases/checks/stored-object-inspector.ts';
import { createVerifyTask } from '../../../../../src/daemon/releases/checks/verify-task.ts';
import type { TaskContext } from '../../../../../src/daemon/tasks/task.ts';
import { manifestDigestOf } from '../../../../../src/domain/release/digest.ts';
import { noFailpoints } from '../../../../../src/platform/files/failpoints.ts';
import { blake3Hex } from '../../../../../src/platform/hashing/blake3.ts';
import { createHashPool } from '../../../../../src/platform/hashing/hash-pool.ts';
import { openSnapshotWriter } from '../../../../../src/snapshot/snapshot-writer.ts';
import { manifestPath, objectPath } from '../../../../../src/snapshot/volume/layout.ts';
import { askReport } from '../../../../support/reports.ts';
import { createWorld, type World } from '../release-world.ts';

async function synced(): Promise<World> {
  const world = await createWorld();
  world.upstream.files = new Map([
    ['a', 'one'],
    ['b', 'two'],
  ]);
  expect((await world.act('sync')).status).toBe('succeeded');
  return world;
}

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
  const writer = await openSnapshotWriter({ ...common, failpoints: noFailpoints });
  return createReleaseCheck({
    ...common,
    writer,
    damage: createReleaseDamage({
      ...common,
      onDamage: () => undefined,
      onSoundnessChanged: () => undefined,
    }),
    attestation: { issue: async () => undefined },
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

test('release.list names the time of the last full verification, also when it found damage', async () => {
  const world = await synced();
  const syncedAt = Math.floor(world.clock.now() / 1000);
  await world.clock.advance(3_600_000);
  await world.act('refresh');
  expect(await integrity(world)).toMatchObject({ checked_at: syncedAt, ok: true });
  await world.damage('two', 'TWO');
  await world.act('verify');
  expect(await integrity(world)).toMatchObject({ checked_at: syncedAt + 3600, ok: false });
});

test('a verification clears the damage of a server-info document that is sound again', async () => {
  const world = await synced();
  await world.damage(world.upstream.serverInfo!, null);
  expect((await world.act('verify')).status).toBe('failed');
  await restore(world, world.upstream.serverInfo!);
  expect(await world.act('verify')).toMatchObject({ status: 'succeeded', result: { damaged: 0 } });
  expect(world.row('1.0')).toBe('current');
});

test('a verification that read an object before it was repaired does not withdraw the release again', async () => {
  const world = await synced();
  const { repository: releases } = world.releases;
  const check = await createCheck(world);
  const release = releases.current('official')!;
  const path = objectPath(world.root, blake3Hex(Buffer.from('two')));
  await world.damage('two', 'TWO');
  const findings = await check.examine(release, context);
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
  const world = await synced();
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
  const world = await synced();
  const task = createVerifyTask({
    releases: world.releases.repository,
    check: await createCheck(world),
    attestor: {
      issue: async () => {
        expect(await world.act('repair')).toMatchObject({ status: 'succeeded' });
      },
    } as unknown as Attestor,
  });
  await world.damage('two', 'TWO');
  await expect(task.run(context)).rejects.toMatchObject({
    code: 'damage_found',
    message: '1 damaged file in release 1.0: b',
    details: { damaged: 1, releases: [{ damaged: 1, damaged_entries: [{ destination: 'b' }] }] },
  });
  expect(world.row('1.0')).toBe('current');
});

test('damage is counted by finder and kind, and once while it lasts', async () => {
  const world = await synced();
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
  const world = await synced();
  const release = world.releases.repository.current('official')!;
  await rm(manifestPath(world.root, manifestDigestOf(release.snapshot_id!)!));
  await world.act('verify');
  await world.act('verify');
  expect(world.releases.damage.found()).toContainEqual({ finder: 'verify', kind: 'missing', count: 1 });
});
