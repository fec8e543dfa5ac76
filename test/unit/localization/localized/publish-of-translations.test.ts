import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CatalogError } from '../../../../src/localization/localized/catalogs/catalog-rewriter.ts';
import type { BaseRow } from '../../../../src/localization/localized/publish/base-release.ts';
import {
  LOCALIZED_FAILPOINTS,
  type LocalizedChannel,
} from '../../../../src/localization/localized/channel.ts';
import { writeLocalizedRevision } from '../../../../src/localization/localized/publish/localized-revision.ts';
import { publishContent } from '../../../../src/localization/localized/publish/publish-content.ts';
import type { Replacements } from '../../../../src/localization/localized/publish/stage-patches.ts';
import { RELEASE_FAILPOINTS } from '../../../../src/releases/jobs/release-failpoints.ts';
import { TaskError, type Task, type TaskContext } from '../../../../src/engine/tasks/task.ts';
import type { Blake3Hex } from '../../../../src/domain/release/digest.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { objectPath } from '../../../../src/snapshot/volume/layout.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { act } from '../../../support/actions.ts';
import {
  createLocalizedWorld,
  digestsOf,
  offered,
  OFFICIAL,
  type LocalizedWorld,
} from '../../../support/localized-world.ts';
import { until } from '../../../support/until.ts';

/** Makes a world with one translated text in each of two files. */
async function withTexts(): Promise<LocalizedWorld> {
  const world = await createLocalizedWorld();
  world.texts.official = { ...OFFICIAL };
  world.texts.translations = { 'a.csv': { こんにちは: '你好' }, 'b.txt': { さようなら: '再见' } };
  return world;
}

const FIRST = { ...OFFICIAL, 'a.csv': 'id,text\n1,你好\n', 'b.txt': '再见' };

const fromWorker = { from_worker: true };

describe('localized-publish of stored translations', () => {
  test.each(['is missing', 'has become a folder'])(
    'whose official object %s reports the damage, which a repair ends',
    async (what) => {
      const world = await withTexts();
      const path = objectPath(world.root, blake3Hex(Buffer.from(OFFICIAL['a.csv'] ?? '')));
      await rm(path);
      if (what !== 'is missing') await mkdir(path);
      const task = await world.act('localized-publish', fromWorker);
      expect(task).toMatchObject({
        status: 'failed',
        failure_code: 'release_damaged',
        failure_reason:
          'release 1.0 is damaged: 1 missing object; nothing was published. Run repair, then try again',
      });
      expect(world.row('1.0')).toBe('damaged');
      expect(world.attested().localized).toBeNull();
      expect((await world.act('repair')).status).toBe('succeeded');
      expect((await world.act('localized-publish', fromWorker)).status).toBe('succeeded');
    },
  );

  test.each(['is missing', 'has become a folder'])(
    'whose untouched official object %s reports and attests the damage, which a repair ends',
    async (what) => {
      const world = await withTexts();
      const path = objectPath(world.root, blake3Hex(Buffer.from(OFFICIAL['c.bin'] ?? '')));
      await rm(path);
      if (what !== 'is missing') await mkdir(path);
      expect(await world.act('localized-publish', fromWorker)).toMatchObject({
        status: 'failed',
        failure_code: 'release_damaged',
        failure_reason:
          'release 1.0-l1 cannot be registered: 1 missing object; nothing was published. Run repair, then try again',
      });
      expect(world.row('1.0')).toBe('damaged');
      expect(world.attested()).toMatchObject({ official: { result: 'FAILED' }, localized: null });
      expect((await world.act('repair')).status).toBe('succeeded');
      expect((await world.act('localized-publish', fromWorker)).status).toBe('succeeded');
    },
  );

  test.each(['is missing', 'has become a folder'])(
    'whose earlier patched object %s builds it again',
    async (what) => {
      const world = await withTexts();
      await world.act('localized-publish', fromWorker);
      const path = objectPath(world.root, blake3Hex(Buffer.from(FIRST['b.txt'])));
      await rm(path);
      if (what !== 'is missing') await mkdir(path);
      world.texts.translations['a.csv'] = { こんにちは: '您好' };
      expect(await world.act('localized-publish', fromWorker)).toMatchObject({
        status: 'succeeded',
        result: { localized_release_id: '1.0-l2', built_containers: 2 },
      });
      expect(await readFile(path, 'utf8')).toBe('再见');
      expect((await world.act('verify')).status).toBe('succeeded');
    },
  );

  test.each([
    ['memory_exceeded', 'memory_exceeded'],
    ['catalog_not_rewritten', 'release_damaged'],
  ] as const)(
    'that fails with %s looks for missing files only where they can be the cause',
    async (code, reported) => {
      const world = await withTexts();
      world.texts.catalogError = new CatalogError(code, 'c.bin', 'it cannot be read');
      await rm(objectPath(world.root, blake3Hex(Buffer.from(OFFICIAL['c.bin'] ?? ''))));
      const task = await world.act('localized-publish', fromWorker);
      expect(task).toMatchObject({ status: 'failed', failure_code: reported });
    },
  );

  test('patches the files with texts, records the texts before they are served, and marks the tasks', async () => {
    const world = await withTexts();
    const task = await world.act('localized-publish', fromWorker);
    expect(task).toMatchObject({
      status: 'succeeded',
      result: {
        localized_release_id: '1.0-l1',
        base_release_id: '1.0',
        coverage: 1,
        containers: 2,
        built_containers: 2,
        reused_containers: 0,
        checked: { edited_units: 2, other_units: 2, untouched_parts: 0 },
        replaced_entries: 2,
        files: [
          { destination: 'a.csv', size: 17 },
          { destination: 'b.txt', size: 6 },
        ],
      },
    });
    expect(await offered(world, world.attested().localized?.snapshot_id)).toEqual(digestsOf(FIRST));
    expect(world.textCalls).toEqual([
      { frozen: '1.0', translationFile: null, minState: 'proofread', include: [] },
      { recorded: '1.0-l1' },
      { published: '1.0-l1' },
    ]);
    expect(await readdir(world.dataDirectory)).toEqual([]);
    expect(await world.stagedFolders()).toEqual([]);
  });

  test('waits for its texts while they are being prepared, and no longer', async () => {
    const world = await withTexts();
    const refused = new TaskError('tasks_not_built', 'the tasks are not built', { retryable: true });
    let freezes = 0;
    world.texts.onFreeze = async () => {
      freezes += 1;
      if (freezes <= 5) throw refused;
    };
    const publish = async (): Promise<Task> => {
      const { task } = await act(world.actions, 'localized-publish', fromWorker);
      for (;;) {
        await until(() => world.engine.get(task.task_id)?.status !== 'running');
        const now = world.engine.get(task.task_id);
        if (now !== null && now.finished_at !== null) return now;
        await world.clock.advance(60_000);
      }
    };
    world.texts.isPreparing = true;
    expect(await publish()).toMatchObject({ status: 'succeeded', attempt: 1 });
    freezes = 0;
    world.texts.isPreparing = false;
    expect(await publish()).toMatchObject({ status: 'failed', failure_code: 'tasks_not_built' });
    // Tasks of this world have one attempt.
    expect(freezes).toBe(1);
  });

  test('builds only containers whose texts changed, and again those that the store has lost', async () => {
    const world = await withTexts();
    await world.act('localized-publish', fromWorker);
    world.texts.translations['b.txt'] = { さようなら: '拜拜' };
    const second = await world.act('localized-publish', fromWorker);
    expect(second.result).toMatchObject({ built_containers: 1, reused_containers: 1 });
    expect(world.texts.patched.toSorted()).toEqual(['a.csv', 'b.txt', 'b.txt']);
    world.textCalls.length = 0;
    expect((await world.act('localized-publish', fromWorker)).result).toMatchObject({
      unchanged: true,
      built_containers: 0,
    });
    // Texts that change no byte can be new.
    expect(world.textCalls).toContainEqual({ recorded: '1.0-l2' });
    await world.damage('拜拜', null);
    await world.act('verify');
    expect(world.attested()).toMatchObject({
      official: { result: 'PASSED' },
      localized: { result: 'FAILED' },
    });
    expect((await world.act('localized-publish', fromWorker)).result).toMatchObject({
      built_containers: 1,
      localized_release_id: '1.0-l2',
    });
    expect(world.attested()).toMatchObject({ localized: { release_id: '1.0-l2', result: 'PASSED' } });
  });

  test('has patched files whose repair says what brings them back, or that nothing needs them', async () => {
    const world = await withTexts();
    await world.act('localized-publish', fromWorker);
    world.texts.translations['b.txt'] = { さようなら: '拜拜' };
    await world.act('localized-publish', fromWorker);
    await world.damage('拜拜', null);
    await world.act('verify');
    const repaired = async (): Promise<unknown> =>
      (await world.act('repair', { args: ['release_id=1.0-l2'] })).result?.['unrecoverable'];
    expect(await repaired()).toMatchObject([
      { release_id: '1.0-l2', reason: expect.stringContaining('run localized-publish with what') as string },
    ]);
    await world.act('localized-rollback', { reviewer: 'Rin', reason: 'wrong' });
    expect(await repaired()).toMatchObject([
      { release_id: '1.0-l2', reason: expect.stringContaining('no client misses it') as string },
    ]);
  });

  test('has the rewritten catalogs of the patched files', async () => {
    const world = await withTexts();
    world.texts.catalog = 'c.bin';
    const task = await world.act('localized-publish', fromWorker);
    expect(task.result).toMatchObject({ containers: 2, replaced_entries: 3 });
    const digests = await offered(world, task.result?.['snapshot_id']);
    const catalog = await readFile(objectPath(world.root, digests.get('c.bin') as Blake3Hex), 'utf8');
    expect(catalog).toBe('a.csv 17\nb.txt 6\n');
  });

  test('as a dry run says what prevents it, and publishes nothing', async () => {
    const world = await withTexts();
    world.texts.blockedUnits = 1;
    world.texts.untranslatedUnits = 1;
    const { version } = world.attested();
    const task = await world.act('localized-publish', {
      ...fromWorker,
      args: ['dry_run=true', 'min_state=draft', 'include=*.csv'],
    });
    expect(task.result).toMatchObject({
      dry_run: true,
      coverage: 0.5,
      units: { published: 2, blocked: 1, untranslated: 1 },
      blockers: [{ code: 'qa_blocked', count: 1 }],
      files: [
        { destination: 'a.csv', edited_units: 1 },
        { destination: 'b.txt', edited_units: 1 },
      ],
    });
    expect(world.textCalls).toEqual([
      { frozen: '1.0', translationFile: null, minState: 'draft', include: ['*.csv'] },
    ]);
    expect(world.attested()).toMatchObject({ version, localized: null });
    expect(world.texts.patched).toEqual([]);
  });

  test('as a dry run says whether the current localized release has these texts', async () => {
    const world = await withTexts();
    const dryRun = { ...fromWorker, args: ['dry_run=true'] };
    expect((await world.act('localized-publish', dryRun)).result).toMatchObject({ unchanged: false });
    await world.act('localized-publish', fromWorker);
    expect((await world.act('localized-publish', dryRun)).result).toMatchObject({ unchanged: true });
    world.texts.translations['a.csv'] = { こんにちは: '您好' };
    expect((await world.act('localized-publish', dryRun)).result).toMatchObject({ unchanged: false });
  });

  test('is refused for blocked units even with force, and for no texts only without it', async () => {
    const world = await withTexts();
    world.texts.blockedUnits = 1;
    expect(await world.act('localized-publish', { ...fromWorker, force: true })).toMatchObject({
      failure_code: 'qa_blocked',
    });
    world.texts.blockedUnits = 0;
    world.texts.translations = {};
    world.texts.untranslatedUnits = 1;
    expect(await world.act('localized-publish', fromWorker)).toMatchObject({
      failure_code: 'coverage_incomplete',
    });
    expect(world.attested().localized).toBeNull();
  });

  test('of a container that cannot be patched names it and publishes nothing', async () => {
    const world = await withTexts();
    const failure = { kind: 'failed', archiveEntry: 'in.json', fieldPath: '/a' } as const;
    world.texts.failures.set('b.txt', { ...failure, code: 'text_too_long', message: 'too long' });
    const failed = await world.act('localized-publish', fromWorker);
    expect(failed).toMatchObject({ status: 'failed', failure_code: 'patch_failed' });
    expect(failed.failure_reason).toContain('b.txt!/in.json cannot be patched: too long');
    expect(failed.result).toMatchObject({ destination: 'b.txt', code: 'text_too_long', field_path: '/a' });
    world.texts.failures.set('b.txt', { ...failure, code: 'patch_selfcheck_failed', message: 'differs' });
    expect(await world.act('localized-publish', fromWorker)).toMatchObject({
      failure_code: 'patch_selfcheck_failed',
    });
    expect(world.attested().localized).toBeNull();
    expect(world.releases.repository.list('localized', 10)).toEqual([]);
    expect(await world.stagedFolders()).toEqual([]);
    expect(world.texts.patchers).toEqual({ opened: 2, open: 0 });
  });

  test('on a full volume keeps the current release, and succeeds when there is space again', async () => {
    const world = await withTexts();
    await world.act('localized-publish', fromWorker);
    world.texts.translations['b.txt'] = { さようなら: '拜拜' };
    world.texts.isFull = true;
    expect(await world.act('localized-publish', fromWorker)).toMatchObject({ failure_code: 'no_space' });
    expect(world.attested().localized).toMatchObject({ release_id: '1.0-l1', result: 'PASSED' });
    expect(await world.stagedFolders()).toEqual([]);
    world.texts.isFull = false;
    expect((await world.act('localized-publish', fromWorker)).result).toMatchObject({
      localized_release_id: '1.0-l2',
      built_containers: 1,
    });
  });

  test('fails when the official release changes while its files are built', async () => {
    const world = await withTexts();
    await world.act('localized-publish', fromWorker);
    world.upstream.releaseId = '2.0';
    world.upstream.files.set('c.bin', 'new');
    await world.act('sync');
    world.texts.translations['b.txt'] = { さようなら: '拜拜' };
    world.texts.onFreeze = async () => {
      // As a database that was corrected from the volume has it.
      for (const sql of [
        `UPDATE release SET state = iif(release_id = '1.0', 'current', 'superseded') WHERE channel = 'official'`,
        `UPDATE current_release SET release_id = '1.0' WHERE channel = 'official'`,
      ]) {
        world.database.prepare(sql).run();
      }
    };
    const failed = await world.act('localized-publish', fromWorker);
    expect(failed).toMatchObject({ status: 'failed', failure_code: 'base_mismatch' });
    expect(world.releases.repository.pointer('localized')?.release_id).toBe('1.0-l1');
    expect(await world.stagedFolders()).toEqual([]);
  });

  test('takes a file of translations from the exchange folder', async () => {
    const world = await withTexts();
    const body = { translation_file: 'zh.csv' };
    await expect(act(world.actions, 'localized-publish', body)).rejects.toMatchObject({
      code: 'file_not_found',
    });
    await expect(
      act(world.actions, 'localized-publish', { translation_file: '../zh.csv' }),
    ).rejects.toMatchObject({ code: 'invalid_request' });
    await writeFile(join(world.patchRoot, 'zh.csv'), 'x');
    expect((await world.act('localized-publish', body)).status).toBe('succeeded');
    expect(world.textCalls[0]).toMatchObject({ translationFile: 'zh.csv' });
  });

  test('refuses a file without a text that can be published, even with force', async () => {
    const world = await withTexts();
    await writeFile(join(world.patchRoot, 'empty.csv'), '');
    world.texts.translations = {};
    world.texts.untranslatedUnits = 2;
    const body = { translation_file: 'empty.csv', force: true };
    expect(await world.act('localized-publish', body)).toMatchObject({
      status: 'failed',
      failure_code: 'coverage_incomplete',
      failure_reason: expect.stringMatching(
        /^no unit can be published: .*; name a file with translations$/,
      ) as string,
    });
    expect(world.attested().localized).toBeNull();
  });

  test.each([...LOCALIZED_FAILPOINTS, ...RELEASE_FAILPOINTS])(
    'that is stopped at %s leaves the old or the new release, and continues',
    async (place) => {
      const world = await withTexts();
      await world.act('localized-publish', fromWorker);
      world.texts.translations['b.txt'] = { さようなら: '拜拜' };
      world.script.failAt = place;
      expect((await world.act('localized-publish', fromWorker)).status).toBe('failed');
      await world.restart();
      const { localized, official } = world.attested();
      expect(official).toMatchObject({ release_id: '1.0', result: 'PASSED' });
      const second = { ...FIRST, 'b.txt': '拜拜' };
      expect([digestsOf(FIRST), digestsOf(second)]).toContainEqual(
        await offered(world, localized?.snapshot_id),
      );
      expect((await world.act('localized-publish', fromWorker)).status).toBe('succeeded');
      expect(await offered(world, world.attested().localized?.snapshot_id)).toEqual(digestsOf(second));
      expect(world.textCalls.at(-1)).toEqual({ published: world.attested().localized?.release_id });
    },
  );
});

describe('the revision of a localized release', () => {
  test('is copied when those that killed attempts left are removed', async () => {
    const world = await withTexts();
    const columns = 'channel, upstream_label, upstream_release_id, task_id, fetched_at';
    for (const sql of [
      `INSERT INTO catalog_revision (revision_id, ${columns}) VALUES (900, 'localized', 'localized', '1.0', 't0', 1)`,
      `INSERT INTO catalog_entry (revision_id, destination, source, locator) VALUES (900, 'a.csv', 'official', '')`,
      `CREATE TEMP TRIGGER copied BEFORE INSERT ON catalog_entry
        WHEN EXISTS (SELECT 1 FROM main.catalog_revision WHERE revision_id = 900)
        BEGIN SELECT RAISE(ABORT, 'the rows of a killed attempt are there'); END`,
    ]) {
      world.database.prepare(sql).run();
    }
    expect(await world.act('localized-publish', fromWorker)).toMatchObject({ status: 'succeeded' });
  });

  test('waits for a build that also fails, and then fails with its own error', async () => {
    const events: string[] = [];
    const build = Promise.withResolvers<Replacements>();
    const unreferenced = (): never => {
      events.push('revision failed');
      throw new Error('no database');
    };
    const published = publishContent(
      { catalogs: { unreferenced } } as unknown as LocalizedChannel,
      { base: {} as BaseRow, building: build.promise, wantedId: null, resumes: false },
      {} as TaskContext,
    ).finally(() => events.push('publish ended'));
    await until(() => events.includes('revision failed'));
    events.push('build failed');
    build.reject(new Error('no file'));
    await expect(published).rejects.toThrow('no database');
    expect(events).toEqual(['revision failed', 'build failed', 'revision failed', 'publish ended']);
  });

  test('the entries of many replaced files are written in pages, and the task can be cancelled between them', async () => {
    const replaced = new Map(
      Array.from({ length: 2500 }, (_, at) => [`${at}.csv`, { blake3: 'new', size: 1 }]),
    );
    const cancelling = new AbortController();
    const pages: number[] = [];
    const catalogs = {
      begin: () => 7,
      copyRows: async function* copyRows() {},
      entry: (_revision: number, destination: string) => ({ destination, blake3: 'old' }),
      replaceRows: (_revision: number, rows: readonly unknown[]) => {
        pages.push(rows.length);
        if (pages.length === 2) cancelling.abort(new Error('cancelled'));
      },
    };
    const context = { taskId: 't1', signal: cancelling.signal, progress: () => undefined };
    const write = writeLocalizedRevision(
      { catalogs, objects: {}, clock: new FakeClock() } as unknown as Parameters<
        typeof writeLocalizedRevision
      >[0],
      { release_id: 'r1', revision_id: 1, app_version: null } as BaseRow,
      Promise.resolve(replaced as unknown as Replacements),
      context as unknown as TaskContext,
    );
    await expect(write).rejects.toThrow('cancelled');
    expect(pages).toEqual([1000, 1000]);
  });
});
