import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SERVER_INFO_MAX_BYTES } from '../../../src/domain/release/server-info-document.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { objectPath, stagingRoot } from '../../../src/snapshot/volume/layout.ts';
import { errorCode } from '../../../src/platform/files/error-code.ts';
import { createSyncedWorld, createWorld, ended, type World } from '../../support/release-world.ts';

const OTHER = Buffer.from('{"ConnectionGroups":[1]}');

const documentOf = (bytes: Buffer): { blake3: string; size: number } => ({
  blake3: blake3Hex(bytes),
  size: bytes.length,
});

async function isStored(world: World, bytes: Buffer): Promise<boolean> {
  const path = objectPath(world.root, blake3Hex(bytes));
  const names = await readdir(dirname(path)).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
  return names.some((name) => path.endsWith(name));
}

describe('another server-info document', () => {
  test('is attested beside the manifest; the release, its id and its snapshot stay', async () => {
    const world = await createSyncedWorld();
    const first = world.upstream.serverInfo!;
    const before = world.attested();
    expect(before.official?.server_info).toEqual(documentOf(first));
    const { official } = before;
    world.upstream.serverInfo = OTHER;
    expect(await world.act('sync')).toMatchObject({
      status: 'succeeded',
      result: { unchanged: true, server_info_replaced: true, release_id: '1.0', downloaded_entries: 0 },
    });
    const after = world.attested();
    expect(after.official).toEqual({ ...official, server_info: documentOf(OTHER) });
    expect(after.version).toBeGreaterThan(before.version);
    expect(after.retained).toEqual([]);
    expect(await world.onVolume()).toEqual(after);
    expect(world.upstream.opened).toEqual([]);
    expect((await world.act('sync')).result).toMatchObject({ unchanged: true, release_id: '1.0' });
    expect((await world.act('verify', { force: true })).result).toMatchObject({ damaged: 0 });
  });

  test('is durable before it is attested, and the old one goes only when no attestation names it', async () => {
    const world = await createSyncedWorld();
    const first = world.upstream.serverInfo!;
    world.upstream.serverInfo = OTHER;
    world.script.broken.set('publishAttestation', Object.assign(new Error('no'), { code: 'EIO' }));
    expect((await world.act('sync')).status).toBe('failed');
    expect((await world.onVolume())?.official?.server_info).toEqual(documentOf(first));
    await world.clock.advance(60_000);
    await world.act('release-cleanup', { force: true });
    expect([await isStored(world, first), await isStored(world, OTHER)]).toEqual([true, true]);
    world.script.broken.clear();
    await world.act('sync');
    expect(world.attested().official?.server_info).toEqual(documentOf(OTHER));
    await world.clock.advance(60_000);
    await world.act('release-cleanup', { force: true });
    expect([await isStored(world, first), await isStored(world, OTHER)]).toEqual([false, true]);
  });

  test.each([
    'release.objects.flushed',
    'release.manifest.written',
    'release.database.verified',
    'release.attestation.signed',
    'release.attestation.published',
  ])('survives an end of the daemon at %s', async (failpoint) => {
    const world = await createSyncedWorld();
    const { official } = world.attested();
    world.upstream.serverInfo = OTHER;
    world.script.failAt = failpoint;
    await world.act('sync');
    await world.restart();
    expect(world.attested().official).toMatchObject({
      snapshot_id: official?.snapshot_id,
      result: 'PASSED',
    });
    await world.act('sync');
    expect(world.attested().official).toMatchObject({
      release_id: '1.0',
      snapshot_id: official?.snapshot_id,
      server_info: documentOf(OTHER),
    });
    expect((await world.act('verify', { force: true })).result).toMatchObject({ damaged: 0 });
  });

  test('outlives the loss of the database', async () => {
    const world = await createSyncedWorld();
    world.upstream.serverInfo = OTHER;
    await world.act('sync');
    await world.restart({ database: 'lost' });
    await ended(world.engine, world.engine.list(1)[0]!.task_id);
    expect(world.attested().official).toMatchObject({
      release_id: '1.0',
      result: 'PASSED',
      server_info: documentOf(OTHER),
    });
  });

  test('replaces a damaged one, and its damage', async () => {
    const world = await createSyncedWorld();
    await world.damage(world.upstream.serverInfo!, 'bad');
    await world.act('verify');
    expect(world.attested().official?.result).toBe('FAILED');
    world.upstream.serverInfo = OTHER;
    expect((await world.act('sync')).result).toMatchObject({ release_id: '1.0', server_info_replaced: true });
    expect(world.attested().official).toMatchObject({ result: 'PASSED', server_info: documentOf(OTHER) });
  });

  test('can go away', async () => {
    const world = await createSyncedWorld();
    world.upstream.serverInfo = null;
    expect((await world.act('sync')).result).toMatchObject({ release_id: '1.0', server_info_replaced: true });
    expect(world.attested().official).toMatchObject({ release_id: '1.0', server_info: null });
  });
});

test.each([1024 * 1024, 1024 * 1024 + 1, 2 * 1024 * 1024, SERVER_INFO_MAX_BYTES])(
  'a document of %i bytes is stored, attested and verified',
  async (size) => {
    const world = await createWorld();
    world.upstream.files = new Map([['a', 'one']]);
    const [head, tail] = ['{"ConnectionGroups":[],"Notes":"', '"}'];
    const document = Buffer.from(`${head}${'x'.repeat(size - head.length - tail.length)}${tail}`);
    world.upstream.serverInfo = document;
    expect(await world.act('sync')).toMatchObject({ status: 'succeeded', failure_reason: null });
    expect(world.attested().official?.server_info).toEqual({ blake3: blake3Hex(document), size });
    expect(await readdir(stagingRoot(world.root))).toEqual([]);
    expect((await world.act('verify', { force: true })).result).toMatchObject({ damaged: 0 });
    await world.damage(document, 'bad');
    await world.act('verify');
    expect(world.attested().official?.result).toBe('FAILED');
    expect((await world.act('repair')).status).toBe('succeeded');
    expect(world.attested().official?.result).toBe('PASSED');
  },
);
