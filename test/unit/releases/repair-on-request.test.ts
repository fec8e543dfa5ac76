import { chmod, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { UpstreamError } from '../../../src/upstream/upstream.ts';
import { SINGLE_BLOCK_MAX_BYTES } from '../../../src/domain/release/blocks.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { blockListPath } from '../../../src/snapshot/volume/layout.ts';
import { createSyncedWorld, createWorld, type World } from '../../support/release-world.ts';

const synced = async (): Promise<World> => await createSyncedWorld({ a: 'one', b: 'two', c: 'one' });

test('a sound release is left alone', async () => {
  const world = await synced();
  expect((await world.act('repair')).result).toEqual({
    releases: [{ channel: 'official', release_id: '1.0', repaired: 0 }],
  });
  expect(world.upstream.opened).toEqual([]);
});

test('an object that several entries share is fetched once, and the bad one is quarantined', async () => {
  const world = await synced();
  await world.damage('one', 'ONE');
  const task = await world.act('repair');
  expect(task).toMatchObject({ status: 'succeeded', result: { releases: [{ repaired: 1 }] } });
  expect(world.upstream.opened).toEqual(['a']);
  expect(await readdir(join(world.root, 'quarantine'))).toEqual([expect.stringContaining(task.task_id)]);
  expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
  expect(world.attested().official?.result).toBe('PASSED');
});

test('bytes that upstream changed are refused, and the release stays withdrawn', async () => {
  const world = await synced();
  await world.damage('two', null);
  world.upstream.sent.set('b', 'TWO');
  expect(await world.act('repair')).toMatchObject({
    status: 'failed',
    failure_code: 'repair_incomplete',
    result: {
      unrecoverable_count: 1,
      unrecoverable: [{ release_id: '1.0', destination: 'b', reason: expect.any(String) as unknown }],
    },
  });
  expect(world.attested().official?.result).toBe('FAILED');
  world.upstream.sent.clear();
  expect((await world.act('repair')).status).toBe('succeeded');
  expect(world.attested().official?.result).toBe('PASSED');
});

test('upstream has a new release, but still has the bytes', async () => {
  const world = await synced();
  world.upstream.releaseId = '2.0';
  world.upstream.files.set('d', 'new');
  await world.act('catalog-refresh');
  await world.damage('two', 'tw0');
  expect((await world.act('repair')).status).toBe('succeeded');
  expect(world.attested().official).toMatchObject({ release_id: '1.0', result: 'PASSED' });
});

test('an upstream that is down makes the repair incomplete, not wrong', async () => {
  const world = await synced();
  await world.damage('two', null);
  world.upstream.onOpen = () => {
    throw new UpstreamError('upstream_unreachable', 'connection refused', { retryable: true });
  };
  expect(await world.act('repair')).toMatchObject({ failure_code: 'repair_incomplete' });
  expect(world.row('1.0')).toBe('damaged');
});

test('a damaged manifest is found, withdrawn, and written again from the database', async () => {
  const world = await synced();
  const snapshot = String(world.attested().official?.snapshot_id);
  await world.damageManifest(snapshot);
  expect((await world.act('verify')).result).toMatchObject({
    damaged: 1,
    releases: [{ message: expect.stringContaining('manifest') as unknown }],
  });
  expect(world.attested().official?.result).toBe('FAILED');
  await world.damage('two', null);
  expect((await world.act('repair')).status).toBe('succeeded');
  expect(world.attested().official).toMatchObject({ snapshot_id: snapshot, result: 'PASSED' });
  expect(await world.contents(snapshot)).toHaveLength(3);
});

test('a damaged release record is written again', async () => {
  const world = await synced();
  const record = join(world.root, 'releases/official/1.0.json');
  await chmod(record, 0o644);
  await writeFile(record, '{"format":"something"}');
  expect((await world.act('verify')).result).toMatchObject({ damaged: 1 });
  expect(world.attested().official?.result).toBe('FAILED');
  expect((await world.act('repair')).status).toBe('succeeded');
  expect(world.attested().official?.result).toBe('PASSED');
  expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
});

test('a repair that restores nothing is not attested', async () => {
  const world = await synced();
  await world.damage('two', null);
  world.upstream.sent.set('b', null);
  await world.act('verify');
  const { version } = world.attested();
  expect((await world.act('repair')).status).toBe('failed');
  expect((await world.act('repair')).status).toBe('failed');
  expect(world.attested().version).toBe(version);
});

test('a sync also repairs a damaged record and manifest', async () => {
  const world = await synced();
  const record = join(world.root, 'releases/official/1.0.json');
  await chmod(record, 0o644);
  await writeFile(record, 'x');
  await world.damageManifest(String(world.attested().official?.snapshot_id));
  await world.act('verify');
  expect(world.attested().official?.result).toBe('FAILED');
  expect(await world.act('sync')).toMatchObject({ status: 'succeeded', result: { downloaded_entries: 0 } });
  expect(world.attested().official?.result).toBe('PASSED');
  expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
});

test('the server-info document is restored from the database', async () => {
  const world = await synced();
  await world.damage(world.upstream.serverInfo!, null);
  expect((await world.act('verify')).result).toMatchObject({
    damaged: 1,
    releases: [{ damaged_entries: [{ destination: '(server-info document)', status: 'missing' }] }],
  });
  expect((await world.act('repair')).status).toBe('succeeded');
  expect(world.upstream.opened).toEqual([]);
  expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
});

test('one damaged object withdraws every release that holds it, and its repair restores all of them', async () => {
  const world = await synced();
  world.upstream.releaseId = '2.0';
  world.upstream.files.set('d', 'new');
  await world.act('sync');
  expect(world.attested().retained).toHaveLength(1);
  await world.damage('two', 'tw0');
  await world.act('verify');
  expect(world.row('1.0')).toBe('damaged');
  expect(world.attested()).toMatchObject({ official: { result: 'FAILED' }, retained: [] });
  await world.act('repair');
  expect(world.row('1.0')).toBe('superseded');
  expect(world.attested()).toMatchObject({
    official: { release_id: '2.0', result: 'PASSED' },
    retained: [{ release_id: '1.0', result: 'PASSED' }],
  });
});

test('refresh finds missing objects immediately and queues what only a verification can clear', async () => {
  const world = await synced();
  await world.damage('two', null);
  expect((await world.act('refresh')).result).toMatchObject({
    releases: [{ release_id: '1.0', sound: false }],
    damaged: ['1.0'],
  });
  expect(world.attested().official?.result).toBe('FAILED');
  expect(world.engine.list(10).map((task) => task.kind)).toContain('verify');
  const doctor = world.releases.diagnostics();
  expect(doctor.find((check) => check.id === 'verification')).toMatchObject({ status: 'failing' });
});

test('a sync that replaces a damaged release names the action that restores it', async () => {
  const world = await synced();
  await world.damage('two', null);
  await world.act('verify');
  world.upstream.releaseId = '2.0';
  world.upstream.files = new Map([['a', 'other']]);
  expect((await world.act('sync')).result).toMatchObject({
    release_id: '2.0',
    message:
      'release 1.0 was damaged; it is replaced; run repair with args=release_id=1.0 to restore it as well',
  });
  world.upstream.files.set('b', 'two');
  expect(await world.act('repair', { args: ['release_id=1.0'] })).toMatchObject({
    status: 'succeeded',
    result: { releases: [{ release_id: '1.0', repaired: 1 }] },
  });
});

/** A release with a file of two blocks; the upstream that it came from is gone. */
async function syncedLarge(): Promise<{ world: World; large: Buffer; list: string }> {
  const world = await createWorld();
  const large = Buffer.alloc(SINGLE_BLOCK_MAX_BYTES + 5, 7);
  world.upstream.files = new Map([['large', large]]);
  expect((await world.act('sync')).status).toBe('succeeded');
  world.upstream.opened.length = 0;
  world.upstream.files.clear();
  return { world, large, list: blockListPath(world.root, blake3Hex(large)) };
}

test.each([
  ['lost', async (list: string) => await rm(list)],
  ['cut off', async (list: string) => await truncate(list, 32)],
  ['wrong', async (list: string) => await writeFile(list, Buffer.alloc(64))],
])('a block list that is %s is made again from the intact object, without upstream', async (_, spoil) => {
  const { world, list } = await syncedLarge();
  const before = await readFile(list);
  await chmod(list, 0o644);
  await spoil(list);
  expect((await world.act('verify')).result).toMatchObject({ damaged: 1 });
  expect(await world.act('repair')).toMatchObject({
    status: 'succeeded',
    result: { releases: [{ repaired: 1 }] },
  });
  expect((await readFile(list)).equals(before)).toBe(true);
  expect(world.upstream.opened).toEqual([]);
  expect(await readdir(join(world.root, 'quarantine'))).toEqual([]);
  expect(world.attested().official?.result).toBe('PASSED');
  expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
});

test('without its block list, an object with wrong bytes is fetched', async () => {
  const { world, large, list } = await syncedLarge();
  await rm(list);
  await world.damage(large, 'x'.repeat(large.length));
  expect(await world.act('repair')).toMatchObject({ failure_code: 'repair_incomplete' });
  expect(world.row('1.0')).toBe('damaged');
  world.upstream.files.set('large', large);
  expect((await world.act('repair')).status).toBe('succeeded');
  expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
});

test('a block list that is not the known one is not written: the object is fetched', async () => {
  const { world, large, list } = await syncedLarge();
  await rm(list);
  world.database.prepare('UPDATE known_object SET blocks = :blocks WHERE size > 1000000').run({
    blocks: blake3Hex(Buffer.from('another list')),
  });
  await world.act('verify');
  expect(await world.act('repair')).toMatchObject({ failure_code: 'repair_incomplete' });
  expect(world.upstream.opened).toEqual(['large']);
  world.upstream.files.set('large', large);
  expect((await world.act('repair')).status).toBe('succeeded');
  expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
});
