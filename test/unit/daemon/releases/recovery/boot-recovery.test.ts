import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { RECHECK_MS } from '../../../../../src/daemon/releases/checks/withdrawal-recheck.ts';
import { RELEASE_FAILPOINTS } from '../../../../../src/daemon/releases/jobs/release-failpoints.ts';
import { blake3Hex } from '../../../../../src/platform/hashing/blake3.ts';
import { until } from '../../../../support/until.ts';
import { createWorld, DAY, ended, type World } from '../release-world.ts';

async function synced(): Promise<World> {
  const world = await createWorld();
  world.upstream.files = new Map([
    ['a', 'one'],
    ['b', 'two'],
  ]);
  expect((await world.act('sync')).status).toBe('succeeded');
  return world;
}

test.each(RELEASE_FAILPOINTS)(
  'a process that ends at %s leaves the old or the new release',
  async (failpoint) => {
    const world = await synced();
    const before = await world.onVolume();
    world.upstream.releaseId = '2.0';
    world.upstream.files.set('a', 'ONE');
    world.script.failAt = failpoint;
    expect((await world.act('sync')).status).toBe('failed');
    await world.restart();

    const after = world.attested();
    expect(after.version).toBeGreaterThan(before?.version ?? 0);
    expect(['1.0', '2.0']).toContain(after.official?.release_id);
    expect(after.official?.result).toBe('PASSED');
    expect(world.releases.repository.current('official')?.release_id).toBe(after.official?.release_id);
    expect(await world.contents(String(after.official?.snapshot_id))).toHaveLength(2);
    expect((await world.act('verify', { force: true })).result).toMatchObject({ damaged: 0 });

    expect((await world.act('sync')).status).toBe('succeeded');
    expect(world.attested().official).toMatchObject({ release_id: '2.0', result: 'PASSED' });
    expect(world.attested().retained.map((release) => release.release_id)).toEqual(['1.0']);
  },
);

test('a restart checks the releases, then attests with a higher version', async () => {
  const world = await synced();
  const before = world.attested();
  await world.restart({ start: false });
  expect(world.releases.attestation.current()).toBeNull();
  await world.releases.start();
  expect(world.attested()).toMatchObject({
    version: before.version + 1,
    official: before.official,
    verifier: { boot_id: 'boot-2' },
  });
});

test('objects lost while the daemon was down cause an immediate withdrawal', async () => {
  const world = await synced();
  await world.damage('two', null);
  await world.restart();
  expect(world.attested().official).toMatchObject({ release_id: '1.0', result: 'FAILED' });
});

test('a release whose verification is a day old is verified again', async () => {
  const world = await synced();
  await world.clock.advance(DAY + 1000);
  await world.restart();
  const task = world.engine.list(1)[0];
  expect(task?.kind).toBe('verify');
  await ended(world.engine, task!.task_id);
  expect(world.releases.repository.current('official')?.verified_at).toBe(
    Math.floor(world.clock.now() / 1000),
  );
});

describe('the database is lost', () => {
  test('releases are adopted from the volume, but attested only after a full verification', async () => {
    const world = await synced();
    const before = world.attested();
    await world.restart({ database: 'lost' });
    expect(world.releases.attestation.current()).toBeNull();
    const task = world.engine.list(1)[0];
    expect(task?.kind).toBe('verify');
    await ended(world.engine, task!.task_id);
    const after = world.attested();
    expect(after.version).toBeGreaterThan(before.version);
    expect(after.official).toMatchObject({
      release_id: '1.0',
      snapshot_id: before.official?.snapshot_id,
      created_at: before.official?.created_at,
      result: 'PASSED',
    });
    world.upstream.opened.length = 0;
    expect((await world.act('sync')).result).toMatchObject({ unchanged: true, release_id: '1.0' });
    expect(world.upstream.opened).toEqual([]);
    world.upstream.releaseId = '2.0';
    expect((await world.act('sync')).result).toMatchObject({ release_id: '2.0' });
  });

  test('the server-info document of an adopted release recovers, and is attested once', async () => {
    const world = await synced();
    await world.restart({ database: 'lost' });
    await ended(world.engine, world.engine.list(1)[0]!.task_id);
    const document = world.upstream.serverInfo!.toString();
    await world.damage(document, document.toLowerCase());
    await world.act('verify', { force: true });
    expect(world.attested().official?.result).toBe('FAILED');
    await world.damage(document, document);
    await until(async () => {
      await world.clock.advance(RECHECK_MS);
      return world.attested().official?.result === 'PASSED';
    });
    expect(world.row('1.0')).toBe('current');
    expect(world.releases.repository.damagedObjects(10)).toEqual([]);
    const { version } = world.attested();
    for (let round = 0; round < 5; round += 1) {
      await world.clock.advance(RECHECK_MS);
      await setTimeout(20);
    }
    expect(world.attested().version).toBe(version);
  });

  test('a server-info document that is known to be damaged is not checked for each report', async () => {
    const world = await synced();
    await world.restart({ database: 'lost' });
    await ended(world.engine, world.engine.list(1)[0]!.task_id);
    const document = world.upstream.serverInfo!;
    await world.damage(document, 'bad');
    await world.act('verify', { force: true });
    const { version } = world.attested();
    const report = {
      blake3: blake3Hex(document),
      destination: 'server-info',
      kind: 'damaged',
      message: '',
    } as const;
    for (let round = 0; round < 3; round += 1) {
      expect(world.releases.damageIntake([report])).toEqual({ accepted: 1, ignored: 0 });
      await setTimeout(50);
    }
    expect(world.attested().version).toBe(version);
  });

  test('damage that nobody remembers is found before anything is attested', async () => {
    const world = await synced();
    await world.damage('two', 'tw0');
    await world.restart({ database: 'lost' });
    await ended(world.engine, world.engine.list(1)[0]!.task_id);
    expect(world.attested().official).toMatchObject({ release_id: '1.0', result: 'FAILED' });
    expect((await world.act('catalog-refresh')).status).toBe('succeeded');
    expect((await world.act('repair')).status).toBe('succeeded');
    expect(world.attested().official?.result).toBe('PASSED');
  });
});

test('a database restored from a backup is corrected by the newer attestation on the volume', async () => {
  const world = await synced();
  const file = world.database.path;
  world.database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
  await copyFile(file, `${file}.backup`);
  world.upstream.releaseId = '2.0';
  world.upstream.files.set('c', 'three');
  await world.act('sync');
  const before = world.attested();
  await world.restart({ backup: `${file}.backup` });
  await ended(world.engine, world.engine.list(1)[0]!.task_id);
  expect(world.attested().version).toBeGreaterThan(before.version);
  expect(world.attested().official).toMatchObject({ release_id: '2.0', result: 'PASSED' });
  expect(world.row('1.0')).toBe('superseded');
});

test('a volume that was replaced by an empty one is filled again by a sync', async () => {
  const world = await synced();
  const { store_id: lost, official } = world.attested();
  await world.restart({ volume: 'lost' });
  expect(world.attested()).toMatchObject({ version: 1, official: { release_id: '1.0', result: 'FAILED' } });
  expect(world.attested().store_id).not.toBe(lost);
  expect((await world.act('sync')).status).toBe('succeeded');
  expect(world.attested().official).toMatchObject({ snapshot_id: official?.snapshot_id, result: 'PASSED' });
  expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
});

test('a volume that cannot be written at boot does not keep sound releases from being attested', async () => {
  const world = await synced();
  const before = world.attested();
  for (const method of ['publishAttestation', 'removeStaging']) {
    world.script.broken.set(method, Object.assign(new Error('no'), { code: 'EROFS' }));
  }
  await mkdir(join(world.root, 'tmp', 'sync-dead'));
  await world.restart();
  expect(world.attested()).toMatchObject({ official: { release_id: '1.0', result: 'PASSED' } });
  expect(world.attested().version).toBeGreaterThan(before.version);
  expect(world.releases.diagnostics().find((check) => check.id === 'attestation')?.status).toBe('degraded');
  world.script.broken.clear();
  await until(async () => {
    // The daemon may begin to wait for its next look only now.
    await world.clock.advance(2000);
    return ((await world.onVolume())?.version ?? 0) > before.version;
  });
});

test('a lost database never makes a version return that was issued while the volume lagged', async () => {
  const world = await synced();
  world.script.broken.set('publishAttestation', Object.assign(new Error('no'), { code: 'ENOSPC' }));
  for (let renewal = 0; renewal < 3; renewal += 1) await world.act('refresh');
  const lagging = world.attested();
  expect((await world.onVolume())?.version).toBeLessThan(lagging.version);
  world.script.broken.clear();
  await world.restart({ database: 'lost' });
  await ended(world.engine, world.engine.list(1)[0]!.task_id);
  expect(world.attested().version).toBeGreaterThan(lagging.version);
});

test('an attestation on the volume with a foreign signature is not trusted', async () => {
  const world = await synced();
  const before = world.attested();
  await writeFile(
    join(world.root, 'attest/current.json'),
    '{"payloadType":"x","payload":"","signatures":[]}',
  );
  await world.restart();
  expect(world.attested()).toMatchObject({ version: before.version + 1, official: { release_id: '1.0' } });
});
