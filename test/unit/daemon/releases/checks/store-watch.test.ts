import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { STORE_WATCH_MS } from '../../../../../src/daemon/releases/checks/store-watch.ts';
import { manifestDigestOf } from '../../../../../src/domain/release/digest.ts';
import { until } from '../../../../support/until.ts';
import { createWorld, type World } from '../release-world.ts';

async function synced(automaticRepair: boolean): Promise<World> {
  const world = await createWorld({ automaticRepair });
  world.upstream.files = new Map([
    ['a', 'one'],
    ['b', 'two'],
  ]);
  expect((await world.act('sync')).status).toBe('succeeded');
  return world;
}

const verification = (world: World): unknown =>
  world.releases.diagnostics().find(({ id }) => id === 'verification');

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
  await world.releases.lookAtStore(60_000);
  expect(verification(world)).toMatchObject({ status: 'ok' });
  await world.clock.advance(STORE_WATCH_MS * 2);
  await world.damage('two', null);
  await world.releases.lookAtStore(60_000);
  expect(verification(world)).toMatchObject({
    status: 'failing',
    message: '1 missing file in release 1.0: b. Run repair.',
  });
  expect(world.attested().official?.failure).toMatchObject({ reason: 'EntryMissing', examples: ['b'] });
});

test('a volume that is not there withdraws nothing', async () => {
  const world = await synced(true);
  await rename(world.root, `${world.root}-away`);
  await world.clock.advance(STORE_WATCH_MS * 2);
  await world.releases.lookAtStore(60_000);
  expect(world.row('1.0')).toBe('current');
  await rename(`${world.root}-away`, world.root);
});

test('a manifest that a server reports is checked by the daemon and written again', async () => {
  const world = await synced(true);
  const { snapshot_id: snapshotId } = world.attested().official ?? {};
  const blake3 = snapshotId === undefined ? null : manifestDigestOf(snapshotId);
  if (blake3 === null) throw new Error('no snapshot is attested');
  const report = { blake3, destination: '(manifest)', kind: 'damaged' as const, message: 'found by a test' };
  const { version } = world.attested();
  expect(world.releases.damageIntake([report])).toEqual({ accepted: 1, ignored: 0 });
  await world.damageManifest(snapshotId ?? '');
  world.releases.damageIntake([report]);
  await until(() => {
    world.releases.damageIntake([report]);
    return world.attested().version > version && world.row('1.0') === 'current';
  });
  expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
});
