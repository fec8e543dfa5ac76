import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { manifestDigestOf } from '../../../../../src/domain/release/digest.ts';
import { SERVER_INFO_MAX_BYTES } from '../../../../../src/domain/release/server-info-document.ts';
import { MAIN_MIGRATIONS } from '../../../../../src/daemon/database/database.ts';
import { openSqliteDatabase } from '../../../../../src/daemon/database/sqlite-database.ts';
import { summarizeContent } from '../../../../../src/daemon/releases/records/content-digest.ts';
import { noFailpoints } from '../../../../../src/platform/files/failpoints.ts';
import { blake3Hex } from '../../../../../src/platform/hashing/blake3.ts';
import { loadManifest } from '../../../../../src/snapshot/manifest/manifest-loader.ts';
import { openSnapshotWriter } from '../../../../../src/snapshot/snapshot-writer.ts';
import { objectPath, stagingRoot } from '../../../../../src/snapshot/volume/layout.ts';
import { errorCode } from '../../../../../src/platform/files/error-code.ts';
import { createWorld, ended, type World } from '../release-world.ts';

const OTHER = Buffer.from('{"ConnectionGroups":[1]}');

async function synced(): Promise<World> {
  const world = await createWorld();
  world.upstream.files = new Map(Object.entries({ a: 'one', b: 'two' }));
  expect((await world.act('sync')).status).toBe('succeeded');
  world.upstream.opened.length = 0;
  return world;
}

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
    const world = await synced();
    const first = world.upstream.serverInfo!;
    const before = world.attested();
    expect(before.official?.server_info).toEqual(documentOf(first));
    const { official } = before;
    const { index } = await loadManifest({
      root: world.root,
      snapshotId: official!.snapshot_id,
      checkObjects: false,
    });
    expect(index.header.server_info).toBeUndefined();
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
    const world = await synced();
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
    const world = await synced();
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
    const world = await synced();
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
    const world = await synced();
    await world.damage(world.upstream.serverInfo!, 'bad');
    await world.act('verify');
    expect(world.attested().official?.result).toBe('FAILED');
    world.upstream.serverInfo = OTHER;
    expect((await world.act('sync')).result).toMatchObject({ release_id: '1.0', server_info_replaced: true });
    expect(world.attested().official).toMatchObject({ result: 'PASSED', server_info: documentOf(OTHER) });
  });

  test('can go away', async () => {
    const world = await synced();
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

describe('a release of a version whose manifests name the document', () => {
  test('is attested after the upgrade, and keeps its id and its snapshot through syncs', async () => {
    const world = await synced();
    const first = world.upstream.serverInfo!;
    const old = await downgrade(world);
    await world.restart({ backup: old.database });
    expect(world.attested().official).toMatchObject({
      release_id: '1.0',
      snapshot_id: old.snapshotId,
      result: 'PASSED',
      server_info: documentOf(first),
    });
    world.upstream.serverInfo = OTHER;
    expect((await world.act('sync')).result).toMatchObject({
      unchanged: true,
      release_id: '1.0',
      snapshot_id: old.snapshotId,
      server_info_replaced: true,
    });
    expect(world.attested().official?.server_info).toEqual(documentOf(OTHER));
    expect((await world.act('verify', { force: true })).result).toMatchObject({ damaged: 0 });
    // Its manifest is still the one that names the first document, byte for byte.
    await world.damageManifest(old.snapshotId);
    await world.act('verify');
    expect((await world.act('repair')).status).toBe('succeeded');
    expect(world.attested().official).toMatchObject({ snapshot_id: old.snapshotId, result: 'PASSED' });
  });

  test('gives way to new content under the next name', async () => {
    const world = await synced();
    const old = await downgrade(world);
    await world.restart({ backup: old.database });
    world.upstream.files.set('c', 'three');
    expect((await world.act('sync')).result).toMatchObject({ unchanged: false, release_id: '1.0-2' });
    expect(world.attested().retained).toMatchObject([{ release_id: '1.0', snapshot_id: old.snapshotId }]);
  });
});

/** Rewrites the store of a world, and a copy of its database, as the version before wrote them. */
async function downgrade(world: World): Promise<{ readonly database: string; readonly snapshotId: string }> {
  const { repository } = world.releases;
  const row = repository.current('official')!;
  const document = { blake3: row.server_info_blake3!, size: row.server_info_size! };
  const writer = await openSnapshotWriter({
    root: world.root,
    failpoints: noFailpoints,
    clock: world.clock,
  });
  const record = (await writer.readReleaseRecord('official', '1.0' as never))!;
  const entries = async function* all() {
    yield* (await world.contents(record.snapshot_id)).values();
  };
  const header = {
    format: 'slipway-manifest',
    version: 1,
    channel: 'official',
    release_id: row.release_id,
    entry_count: row.entry_count,
    total_bytes: row.total_bytes,
    server_info: document,
    app_version: row.app_version!,
  } as const;
  const { digest } = await summarizeContent(entries(), {
    server_info: document,
    app_version: row.app_version!,
  });
  const written = await writer.writeManifest('downgrade', header, entries());
  await writer.removeReleaseRecord('official', row.release_id);
  await writer.writeReleaseRecord({
    ...record,
    snapshot_id: written.snapshotId,
    manifest: { ...record.manifest, blake3: manifestDigestOf(written.snapshotId)!, sha256: written.sha256 },
    content_digest: digest,
  });

  const path = join(dirname(world.root), 'before.sqlite');
  const before = MAIN_MIGRATIONS.slice(
    0,
    MAIN_MIGRATIONS.findIndex(({ name }) => name === 'server-info-beside-manifest'),
  );
  const copy = openSqliteDatabase({ path, migrations: before, applicationId: 0x53_4c_50_6d });
  try {
    copy.prepare('ATTACH DATABASE :path AS source').run({ path: join(dirname(world.root), 'main.sqlite') });
    copy.transaction(() => {
      for (const table of [
        'catalog_revision',
        'catalog_entry',
        'known_object',
        'release',
        'current_release',
      ]) {
        const columns = copy
          .prepare(`SELECT name FROM pragma_table_info('${table}', 'main')`)
          .all()
          .map(({ name }) => String(name))
          .join(', ');
        copy.prepare(`INSERT INTO ${table} (${columns}) SELECT ${columns} FROM source.${table}`).run();
      }
      copy
        .prepare('UPDATE release SET snapshot_id = :id, manifest_sha256 = :sha256, content_digest = :digest')
        .run({ id: written.snapshotId, sha256: written.sha256, digest });
      copy.prepare('UPDATE catalog_revision SET fingerprint = :other, etag = NULL').run({ other: 'before' });
      copy
        .prepare(
          `INSERT INTO attestation_state (store_id, version, issued_at, expires_at)
           SELECT store_id, version, issued_at, expires_at FROM source.attestation_state`,
        )
        .run();
    });
  } finally {
    copy.close();
  }
  return { database: path, snapshotId: written.snapshotId };
}
