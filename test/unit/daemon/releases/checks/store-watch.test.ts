import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { STORE_WATCH_MS } from '../../../../../src/daemon/releases/checks/store-watch.ts';
import { STORE_LOOK_MAX_AGE_MS } from '../../../../../src/daemon/reports/release-checks.ts';
import { manifestDigestOf } from '../../../../../src/domain/release/digest.ts';
import { until } from '../../../../support/until.ts';
import { createWorld, type World } from '../release-world.ts';

const { request: REQUEST_AGE_MS, interval: INTERVAL_AGE_MS } = STORE_LOOK_MAX_AGE_MS;

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
  await world.releases.lookAtStore(60_000, REQUEST_AGE_MS);
  expect(verification(world)).toMatchObject({ status: 'ok' });
  await world.clock.advance(STORE_WATCH_MS * 2);
  await world.damage('two', null);
  await world.releases.lookAtStore(60_000, REQUEST_AGE_MS);
  expect(verification(world)).toMatchObject({
    status: 'failing',
    message: '1 missing file in release 1.0: b. Run repair.',
  });
  expect(world.attested().official?.failure).toMatchObject({ reason: 'EntryMissing', examples: ['b'] });
});

test('the objects are looked at without a request only when the last look is a quarter of an hour old', async () => {
  const world = await synced(false);
  await world.releases.lookAtStore(60_000, INTERVAL_AGE_MS);
  await world.damage('two', null);
  await world.clock.advance(INTERVAL_AGE_MS - 1);
  await world.releases.lookAtStore(60_000, INTERVAL_AGE_MS);
  expect(verification(world)).toMatchObject({ status: 'ok' });
  await world.clock.advance(1);
  await world.releases.lookAtStore(60_000, INTERVAL_AGE_MS);
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
  await world.releases.lookAtStore(60_000, REQUEST_AGE_MS);
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
