import type { HashPool } from '../../../../src/platform/hashing/digests.ts';
import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CatalogError } from '../../../../src/localization/localized/catalogs/catalog-rewriter.ts';
import { LOCALIZED_FAILPOINTS } from '../../../../src/localization/localized/channel.ts';
import type { PatchedFile } from '../../../../src/localization/localized/publish/patch-manifest.ts';
import { checkPatches } from '../../../../src/localization/localized/publish/stage-patches.ts';
import { RELEASE_FAILPOINTS } from '../../../../src/releases/jobs/release-failpoints.ts';
import type { TaskContext } from '../../../../src/engine/tasks/task.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { act } from '../../../support/actions.ts';
import {
  createLocalizedWorld,
  digestsOf,
  MANIFEST,
  offered,
  OFFICIAL,
  type LocalizedWorld,
} from '../../../support/localized-world.ts';
import { ended } from '../../../support/release-world.ts';
import { askReport } from '../../../support/reports.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const PATCHED = { 'a.csv': 'id,text\n1,你好\n' };

async function refusal(world: LocalizedWorld, body: Record<string, unknown> = {}): Promise<unknown> {
  return await act(world.actions, 'localized-publish', { patch_manifest: MANIFEST, ...body }).then(
    () => 'accepted',
    (error: unknown) => error,
  );
}

describe('publishing a patch manifest', () => {
  describe('localized-publish of a patch manifest', () => {
    test('replaces the listed files and keeps all others, and is attested', async () => {
      const world = await createLocalizedWorld();
      const task = await world.publish(PATCHED, { reviewer: 'Ada', reason: 'first' });
      expect(task).toMatchObject({
        status: 'succeeded',
        reviewer: 'Ada',
        reason: 'first',
        result: {
          unchanged: false,
          localized_release_id: '1.0-l1',
          base_release_id: '1.0',
          entry_count: 3,
          patched_entries: 1,
          files: [{ destination: 'a.csv', size: 17 }],
        },
      });
      const snapshot = task.result?.['snapshot_id'];
      expect(await offered(world, snapshot)).toEqual(digestsOf({ ...OFFICIAL, ...PATCHED }));
      const entries = await world.contents(String(snapshot));
      expect([...entries.values()].map(({ source }) => source)).toEqual([
        'localized',
        'official',
        'official',
      ]);
      expect(world.attested()).toMatchObject({
        official: { release_id: '1.0', result: 'PASSED' },
        localized: { release_id: '1.0-l1', base_release_id: '1.0', snapshot_id: snapshot, result: 'PASSED' },
      });
      expect(await world.onVolume()).toEqual(world.attested());
      expect(await askReport(world.releases.reports, 'release.status')).toMatchObject({
        relation: 'in_sync',
        localized: { release_id: '1.0-l1', base_release_id: '1.0', integrity: 'ok' },
      });
    });

    test('of the same content changes nothing, and of other content makes the next release', async () => {
      const world = await createLocalizedWorld();
      await world.publish(PATCHED);
      const { version } = world.attested();
      expect((await world.publish(PATCHED)).result).toMatchObject({
        unchanged: true,
        localized_release_id: '1.0-l1',
        attestation_version: null,
      });
      expect(world.attested().version).toBe(version);
      const next = await world.publish({ 'b.txt': '再见' });
      expect(next.result).toMatchObject({ unchanged: false, localized_release_id: '1.0-l2' });
      expect(await offered(world, next.result?.['snapshot_id'])).toEqual(
        digestsOf({ ...OFFICIAL, 'b.txt': '再见' }),
      );
      expect(world.attested().retained.map(({ release_id }) => release_id)).toEqual(['1.0-l1']);
      // The content of the first one again: its name stands for exactly these bytes.
      expect((await world.publish(PATCHED)).result).toMatchObject({ localized_release_id: '1.0-l1' });
      expect(world.attested().localized?.release_id).toBe('1.0-l1');
    });

    test('takes the name that the caller gives, and never gives it to other content', async () => {
      const world = await createLocalizedWorld();
      const named = { localized_release_id: 'zh-1' };
      expect((await world.publish(PATCHED, named)).result).toMatchObject({ localized_release_id: 'zh-1' });
      expect((await world.publish(PATCHED, named)).result).toMatchObject({ unchanged: true });
      const other = await world.publish({ 'b.txt': '再见' }, named);
      expect(other).toMatchObject({ status: 'failed', failure_code: 'release_exists' });
      expect(world.attested().localized?.release_id).toBe('zh-1');
      expect(await refusal(world, { localized_release_id: '1.0' })).toMatchObject({ code: 'release_exists' });
    });

    test('as a dry run names the files and publishes nothing', async () => {
      const world = await createLocalizedWorld();
      const { version } = world.attested();
      const task = await world.publish(PATCHED, { args: ['dry_run=true'] });
      expect(task.result).toEqual({
        dry_run: true,
        base_release_id: '1.0',
        patched_entries: 1,
        patched_bytes: 17,
        files: [{ destination: 'a.csv', size: 17 }],
        blockers: [],
      });
      expect(world.attested()).toMatchObject({ version, localized: null });
      expect(world.releases.repository.list('localized', 10)).toEqual([]);
    });

    test('has rewritten catalogs, too, except those that it names itself', async () => {
      const world = await createLocalizedWorld();
      world.texts.catalog = 'c.bin';
      const task = await world.publish(PATCHED);
      expect(task.result).toMatchObject({
        patched_entries: 1,
        replaced_entries: 2,
        files: [{ destination: 'a.csv' }, { destination: 'c.bin' }],
      });
      expect(world.texts.keepsChanged).toBe(true);
      // Given files are not patched.
      expect(world.texts.patchers.opened).toBe(0);
      const catalog = 'a.csv 17\nb.txt 15\n';
      expect(await offered(world, world.attested().localized?.snapshot_id)).toEqual(
        digestsOf({ ...OFFICIAL, ...PATCHED, 'c.bin': catalog }),
      );
      // A file with the official bytes changes nothing.
      expect((await world.publish({ 'b.txt': OFFICIAL['b.txt']! })).result).toMatchObject({
        replaced_entries: 0,
      });
    });

    test('is refused when the official object of a given file is not known, and drops no file silently', async () => {
      const world = await createLocalizedWorld();
      const official = blake3Hex(Buffer.from(OFFICIAL['a.csv']!));
      world.database.prepare('DELETE FROM known_object WHERE blake3 = ?').run(official);
      const failed = await world.publish(PATCHED);
      expect(failed).toMatchObject({ status: 'failed', failure_code: 'release_incomplete' });
      expect(failed.failure_reason).toContain('"a.csv"');
      expect(world.releases.repository.list('localized', 10)).toEqual([]);
    });

    test('is refused when a catalog cannot be rewritten', async () => {
      const world = await createLocalizedWorld();
      world.texts.catalogError = new CatalogError('catalog_not_rewritten', 'c.bin', 'it states the size');
      const failed = await world.publish(PATCHED);
      expect(failed).toMatchObject({ status: 'failed', failure_code: 'catalog_not_rewritten' });
      expect(failed.failure_reason).toContain('c.bin: it states the size; nothing was published');
      expect(world.attested().localized).toBeNull();
      expect(await world.stagedFolders()).toEqual([]);
    });

    test('leaves the channel stale when the official release moves on, and follows it', async () => {
      const world = await createLocalizedWorld();
      await world.publish(PATCHED);
      world.upstream.releaseId = '2.0';
      world.upstream.files.set('c.bin', 'new');
      expect((await world.act('sync')).status).toBe('succeeded');
      expect(world.attested().localized).toBeNull();
      expect(await askReport(world.releases.reports, 'release.status')).toMatchObject({ relation: 'stale' });
      expect(await refusal(world)).toMatchObject({ code: 'base_mismatch' });
      await world.writePatches(PATCHED, '2.0');
      const task = await world.act('localized-publish', { patch_manifest: MANIFEST });
      expect(task.result).toMatchObject({ localized_release_id: '2.0-l1', base_release_id: '2.0' });
      expect(world.attested().localized).toMatchObject({ release_id: '2.0-l1', result: 'PASSED' });
    });

    test('fails when the official release changes before it ends', async () => {
      const world = await createLocalizedWorld();
      await world.writePatches(PATCHED);
      world.upstream.releaseId = '2.0';
      world.upstream.files.set('c.bin', 'new');
      // Queued together: the sync runs first, as the lane runs one task at a time.
      const sync = await act(world.actions, 'sync', {});
      const publish = await act(world.actions, 'localized-publish', { patch_manifest: MANIFEST });
      expect((await ended(world.engine, sync.task.task_id)).status).toBe('succeeded');
      expect(await ended(world.engine, publish.task.task_id)).toMatchObject({
        failure_code: 'base_mismatch',
      });
      expect(world.attested().localized).toBeNull();
    });

    test('is refused without a sound official release', async () => {
      const world = await createLocalizedWorld();
      await world.writePatches(PATCHED);
      await world.damage('same', 'rotten');
      await world.act('verify');
      expect(await refusal(world)).toMatchObject({ code: 'no_official_release' });
    });
  });

  describe('a bad patch manifest', () => {
    test.each<readonly [string, (world: LocalizedWorld) => Promise<void>, string]>([
      [
        'a wrong digest',
        async (world) => {
          await world.writePatches(PATCHED);
          await writeFile(join(world.patchRoot, 'files/a.csv'), 'id,text\n1,你坏\n');
        },
        'patch_file_mismatch',
      ],
      [
        'a wrong size',
        async (world) => {
          await world.writePatches(PATCHED);
          await writeFile(join(world.patchRoot, 'files/a.csv'), 'longer than stated, much longer');
        },
        'patch_file_mismatch',
      ],
      [
        'a file that is missing',
        async (world) => {
          const manifest = await world.writePatches(PATCHED);
          manifest.entries[0]!.file = 'files/none.csv';
          await world.writeManifest(manifest);
        },
        'file_not_found',
      ],
      [
        'a path out of the root',
        async (world) => {
          const manifest = await world.writePatches(PATCHED);
          manifest.entries[0]!.file = '../outside.csv';
          await world.writeManifest(manifest);
        },
        'invalid_path',
      ],
      [
        'a link out of the root',
        async (world) => {
          const outside = join(await temporaryDirectory(), 'a.csv');
          await writeFile(outside, PATCHED['a.csv']);
          const manifest = await world.writePatches(PATCHED);
          await symlink(outside, join(world.patchRoot, 'link.csv'));
          manifest.entries[0]!.file = 'link.csv';
          await world.writeManifest(manifest);
        },
        'invalid_path',
      ],
      [
        'a link inside of the root',
        async (world) => {
          const manifest = await world.writePatches(PATCHED);
          await symlink(join(world.patchRoot, 'files'), join(world.patchRoot, 'again'));
          manifest.entries[0]!.file = 'again/a.csv';
          await world.writeManifest(manifest);
        },
        'invalid_path',
      ],
      [
        'a folder as file',
        async (world) => {
          const manifest = await world.writePatches(PATCHED);
          await mkdir(join(world.patchRoot, 'folder'));
          manifest.entries[0]!.file = 'folder';
          await world.writeManifest(manifest);
        },
        'invalid_path',
      ],
      [
        'a destination that the base lacks',
        async (world) => {
          await world.writePatches({ 'new.csv': 'text' });
        },
        'unknown_destination',
      ],
    ])('with %s publishes nothing', async (_, write, code) => {
      const world = await createLocalizedWorld();
      await world.publish({ 'b.txt': '再见' });
      await write(world);
      const before = world.attested();
      expect(await world.act('localized-publish', { patch_manifest: MANIFEST })).toMatchObject({
        status: 'failed',
        failure_code: code,
      });
      expect(world.attested()).toEqual(before);
      expect(world.releases.repository.list('localized', 10)).toHaveLength(1);
      expect(await world.stagedFolders()).toEqual([]);
    });

    test.each<readonly [string, unknown, string]>([
      ['no JSON', undefined, 'invalid_request'],
      ['no entry', { base_release_id: '1.0', entries: [] }, 'invalid_request'],
      ['an unknown field', { base_release_id: '1.0', entries: [], more: 1 }, 'invalid_request'],
      [
        'a destination twice',
        {
          base_release_id: '1.0',
          entries: [1, 2].map((file) => ({
            destination: 'a.csv',
            file: `${file}`,
            blake3: '0'.repeat(64),
            size: 1,
          })),
        },
        'invalid_request',
      ],
      [
        'a destination that climbs',
        {
          base_release_id: '1.0',
          entries: [{ destination: '../a.csv', file: 'a', blake3: '0'.repeat(64), size: 1 }],
        },
        'invalid_request',
      ],
    ])('with %s is refused before a task exists', async (_, manifest, code) => {
      const world = await createLocalizedWorld();
      if (manifest === undefined) await writeFile(join(world.patchRoot, MANIFEST), '{');
      else await world.writeManifest(manifest);
      expect(await refusal(world)).toMatchObject({ code });
    });

    test('that is larger than one can be is refused before a task exists', async () => {
      const world = await createLocalizedWorld();
      await writeFile(join(world.patchRoot, MANIFEST), '');
      await truncate(join(world.patchRoot, MANIFEST), 32 * 1024 * 1024 + 1);
      expect(await refusal(world)).toMatchObject({
        code: 'invalid_request',
        message: 'the patch manifest "patches.json" cannot be used: it is larger than 33554432 bytes',
      });
    });

    test('is refused with arguments that select texts', async () => {
      const world = await createLocalizedWorld();
      await world.writePatches(PATCHED);
      expect(await refusal(world, { args: ['min_state=draft'] })).toMatchObject({ code: 'invalid_request' });
      expect(await refusal(world, { args: ['colour=red'] })).toMatchObject({ code: 'invalid_request' });
    });

    test('that is not there, or lies out of the root, is refused before a task exists', async () => {
      const world = await createLocalizedWorld();
      expect(await refusal(world)).toMatchObject({ code: 'file_not_found' });
      const outside = join(await temporaryDirectory(), 'outside.json');
      await writeFile(outside, '{}');
      await symlink(outside, join(world.patchRoot, MANIFEST));
      expect(await refusal(world)).toMatchObject({ code: 'invalid_path' });
    });
  });

  describe('a publish that is stopped', () => {
    const places = [
      'release.entry.staged',
      // The others belong to the texts that a patch manifest does not have.
      ...LOCALIZED_FAILPOINTS.filter((name) => !/text|container|tasks/.test(name)),
      ...RELEASE_FAILPOINTS.filter((name) => name !== 'release.entry.staged'),
    ];
    test.each(places)('at %s leaves the old or the new release, and the next one succeeds', async (place) => {
      const world = await createLocalizedWorld();
      const first = await world.publish(PATCHED);
      const next = { 'a.csv': 'id,text\n1,您好\n', 'b.txt': '再见' };
      world.script.failAt = place;
      expect((await world.publish(next)).status).toBe('failed');
      await world.restart();
      const { localized, official, version } = world.attested();
      expect(official).toMatchObject({ release_id: '1.0', result: 'PASSED' });
      const contents = await offered(world, localized?.snapshot_id);
      expect([digestsOf({ ...OFFICIAL, ...PATCHED }), digestsOf({ ...OFFICIAL, ...next })]).toContainEqual(
        contents,
      );
      const again = await world.publish(next);
      expect(again.status).toBe('succeeded');
      expect(world.attested().version).toBeGreaterThanOrEqual(version);
      expect(await offered(world, world.attested().localized?.snapshot_id)).toEqual(
        digestsOf({ ...OFFICIAL, ...next }),
      );
      expect(world.attested().localized?.release_id).not.toBe(first.result?.['localized_release_id']);
      expect(await world.stagedFolders()).toEqual([]);
    });

    test('by a full volume keeps the old release', async () => {
      const world = await createLocalizedWorld();
      await world.publish(PATCHED);
      world.script.freeBytes = 3;
      expect(await world.publish({ 'b.txt': '再见' })).toMatchObject({ failure_code: 'no_space' });
      world.script.freeBytes = null;
      world.script.broken.set('commitObject', Object.assign(new Error('disk full'), { code: 'ENOSPC' }));
      expect(await world.publish({ 'b.txt': '再见' })).toMatchObject({ failure_code: 'no_space' });
      world.script.broken.clear();
      expect(world.attested().localized?.release_id).toBe('1.0-l1');
      expect((await world.publish({ 'b.txt': '再见' })).status).toBe('succeeded');
    });
  });

  describe('damage of a patched object', () => {
    test('withdraws the localized release and not the official one; publishing again heals it', async () => {
      const world = await createLocalizedWorld();
      await world.publish(PATCHED);
      await world.damage(PATCHED['a.csv'], 'rotten');
      await world.act('verify');
      expect(world.attested()).toMatchObject({
        official: { result: 'PASSED' },
        localized: { release_id: '1.0-l1', result: 'FAILED' },
      });
      const repair = await world.act('repair');
      expect(repair).toMatchObject({ failure_code: 'repair_incomplete' });
      expect(repair.failure_reason).toContain('localized-publish');
      expect((await world.publish(PATCHED)).result).toMatchObject({
        unchanged: false,
        localized_release_id: '1.0-l1',
      });
      expect(world.attested().localized).toMatchObject({ release_id: '1.0-l1', result: 'PASSED' });
      expect((await world.act('verify')).status).toBe('succeeded');
    });
  });
});

describe('the staging of patches', () => {
  test('a dry run does not read a file of another size than stated', async () => {
    const root = await temporaryDirectory();
    await writeFile(join(root, 'a.csv'), 'short');
    await truncate(join(root, 'a.csv'), 2 ** 40);
    let hashed = 0;
    const pool = {
      hashFile: async () => {
        hashed += 1;
        return await Promise.reject(new Error('it was read'));
      },
    } as unknown as HashPool;
    const entry = { destination: 'a.csv', file: 'a.csv', blake3: 'a'.repeat(64), size: 5 } as PatchedFile;
    const context = { signal: new AbortController().signal, progress: () => undefined } as unknown;
    await expect(checkPatches(pool, root, [entry], context as TaskContext)).rejects.toMatchObject({
      code: 'patch_file_mismatch',
    });
    expect(hashed).toBe(0);
  });
});
