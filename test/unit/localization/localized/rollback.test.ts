import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { stopOf } from '../../../../src/localization/localized/rollback/rollback-effect.ts';
import {
  createRollbackRecords,
  type Rollback,
  type RollbackRecords,
} from '../../../../src/localization/localized/rollback/rollback-records.ts';
import { ROLLBACK_FAILPOINTS } from '../../../../src/localization/localized/channel.ts';
import { localizedStatusOf } from '../../../../src/localization/localized/localized-status.ts';
import type { ReleaseRepository } from '../../../../src/releases/records/release-repository.ts';
import type { TaskEngine } from '../../../../src/engine/tasks/task-engine.ts';
import { TaskError } from '../../../../src/engine/tasks/task.ts';
import { act } from '../../../support/actions.ts';
import {
  createLocalizedWorld,
  digestsOf,
  MANIFEST,
  offered,
  OFFICIAL,
  type LocalizedWorld,
} from '../../../support/localized-world.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

/** Makes a world with `count` localized releases, the last one current. */
async function withLocalized(count: number): Promise<LocalizedWorld> {
  const world = await createLocalizedWorld();
  for (let number = 1; number <= count; number += 1) {
    const task = await world.publish({ 'a.csv': `text ${number}` });
    expect(task.result).toMatchObject({ localized_release_id: `1.0-l${number}` });
  }
  world.textCalls.length = 0;
  return world;
}

async function refusal(world: LocalizedWorld, body: Record<string, unknown> = {}): Promise<unknown> {
  return await act(world.actions, 'localized-rollback', body).then(
    () => 'accepted',
    (error: unknown) => error,
  );
}

/** How far the newest rollback has come. */
function progress({ database, releases, engine }: LocalizedWorld): string | null {
  const rollbacks = createRollbackRecords(database);
  return stopOf({ releases: releases.repository, rollbacks, tasks: engine })?.progress ?? null;
}

describe('localized-rollback', () => {
  test('makes the release before it current again, with a higher attestation, and says who and why', async () => {
    const world = await withLocalized(2);
    const { version } = world.attested();
    const task = await world.act('localized-rollback', { reviewer: 'Ada', reason: 'wrong names' });
    expect(task).toMatchObject({
      status: 'succeeded',
      result: {
        rolled_back_release_id: '1.0-l2',
        localized_release_id: '1.0-l1',
        withdrawn: false,
        held_units: 2,
      },
    });
    expect(world.attested()).toMatchObject({
      localized: { release_id: '1.0-l1', result: 'PASSED' },
      official: { result: 'PASSED' },
    });
    expect(world.attested().version).toBeGreaterThan(version);
    expect(await offered(world, world.attested().localized?.snapshot_id)).toEqual(
      digestsOf({ ...OFFICIAL, 'a.csv': 'text 1' }),
    );
    expect(world.textCalls).toEqual([
      { hold: { from: '1.0-l2', to: '1.0-l1', reviewer: 'Ada', reason: 'wrong names' } },
      { published: '1.0-l1' },
    ]);
    const records = createRollbackRecords(world.database);
    expect(records.stoppedBy()).toMatchObject({
      from_release_id: '1.0-l2',
      to_release_id: '1.0-l1',
      reviewer: 'Ada',
      reason: 'wrong names',
      held_units: 2,
    });
    expect([records.resume(1), records.stoppedBy(), records.resume(1)]).toEqual([true, null, false]);
  });

  test('as a dry run says which texts would change, and changes nothing', async () => {
    const world = await withLocalized(2);
    const { version } = world.attested();
    const dryRun = async (body: object = {}): Promise<unknown> =>
      (await world.act('localized-rollback', { ...body, args: ['dry_run=true'] })).result;
    expect(await dryRun()).toEqual({
      dry_run: true,
      rolled_back_release_id: '1.0-l2',
      localized_release_id: '1.0-l1',
      withdrawn: false,
      changed_units: 1,
      changes: [{ unit_id: 'tu1_a' }],
      files: [{ destination: 'a.csv', units: 1 }],
      held_units: 2,
    });
    expect(world.textCalls).toEqual([{ compared: { from: '1.0-l2', to: '1.0-l1' } }]);
    expect(world.attested()).toMatchObject({ version, localized: { release_id: '1.0-l2' } });
    expect(createRollbackRecords(world.database).stoppedBy()).toBeNull();
    await world.act('localized-rollback');
    expect(await dryRun()).toMatchObject({ localized_release_id: null, withdrawn: true });
  });

  test('as a dry run says what happens also while the texts cannot be compared', async () => {
    const world = await withLocalized(2);
    world.texts.compareError = new TaskError('translation_unavailable', 'translation.db is damaged');
    expect(await world.act('localized-rollback', { args: ['dry_run=true'] })).toMatchObject({
      status: 'succeeded',
      result: {
        rolled_back_release_id: '1.0-l2',
        localized_release_id: '1.0-l1',
        changed_units: null,
        held_units: null,
        open: 'the texts cannot be compared, and the rollback does not need them: translation.db is damaged',
      },
    });
  });

  test('appears in the history, in which the release that became current last is first', async () => {
    const world = await createLocalizedWorld();
    const records = createRollbackRecords(world.database);
    const history = () =>
      localizedStatusOf(world.releases.repository, (id) => records.takenBackBy(id)).history.map(
        ({ localized_release_id: id, rolled_back: rollback }) => [id, rollback?.reason ?? null],
      );
    const later = () => {
      world.clock.jumpAhead(60_000);
    };
    for (const text of ['text 1', 'text 2']) {
      later();
      await world.publish({ 'a.csv': text });
    }
    const published = [
      ['1.0-l2', null],
      ['1.0-l1', null],
    ];
    expect(history()).toEqual(published);
    later();
    await world.act('localized-rollback', { reviewer: 'Ada', reason: 'wrong names' });
    expect(history()).toEqual([
      ['1.0-l1', null],
      ['1.0-l2', 'wrong names'],
    ]);
    later();
    await world.act('localized-rollback', { localized_release_id: '1.0-l2', reason: 'they were right' });
    expect(history()).toEqual([
      ['1.0-l2', null],
      ['1.0-l1', 'they were right'],
    ]);
  });

  test('without an earlier release of this base withdraws the channel, and a publish that resumes fills it again', async () => {
    const world = await withLocalized(1);
    const { version } = world.attested();
    const task = await world.act('localized-rollback');
    expect(task.result).toMatchObject({ localized_release_id: null, withdrawn: true });
    expect(world.attested()).toMatchObject({
      official: { release_id: '1.0', result: 'PASSED' },
      localized: null,
      retained: [{ release_id: '1.0-l1' }],
    });
    expect(world.attested().version).toBeGreaterThan(version);
    expect(world.row('1.0-l1')).toBe('superseded');
    expect(await refusal(world)).toMatchObject({ code: 'nothing_to_roll_back' });
    await world.restart();
    expect(world.attested().localized).toBeNull();
    await world.publish({ 'a.csv': 'better' }, { args: ['resume=true'] });
    expect(world.attested().localized?.release_id).toBe('1.0-l2');
  });

  test.each([{}, { localized_release_id: 'again' }])(
    'that withdrew the channel is not undone by a publish of the same content, unless it resumes (%j)',
    async (named) => {
      const world = await withLocalized(1);
      await world.act('localized-rollback');
      const refused = await world.publish({ 'a.csv': 'text 1' }, named);
      expect(refused).toMatchObject({
        status: 'failed',
        failure_code: 'release_rolled_back',
        failure_reason: expect.stringContaining('args=resume=true') as string,
      });
      expect(world.attested().localized).toBeNull();
      const back = await world.publish({ 'a.csv': 'text 1' }, { args: ['resume=true'] });
      expect(back.result).toMatchObject({ localized_release_id: '1.0-l1', resumed: true });
      expect(world.attested().localized?.release_id).toBe('1.0-l1');
    },
  );

  test('that withdrew the channel refuses other content and other bases, too, until a publish resumes it', async () => {
    const world = await withLocalized(1);
    await world.act('localized-rollback');
    const refused = { status: 'failed', failure_code: 'release_rolled_back' };
    expect(await world.publish({ 'a.csv': 'text 1', 'b.txt': 'other' })).toMatchObject(refused);
    expect(await world.publish({ 'b.txt': 'other' }, { force: true })).toMatchObject(refused);
    expect(await world.act('localized-publish', { from_worker: true })).toMatchObject(refused);
    world.upstream.releaseId = '2.0';
    world.upstream.files.set('c.bin', 'new');
    await world.act('sync');
    await world.writePatches({ 'b.txt': 'other' }, '2.0');
    const publish = async (args: readonly string[]) =>
      await world.act('localized-publish', { patch_manifest: MANIFEST, args });
    expect(await publish([])).toMatchObject(refused);
    expect((await publish(['dry_run=true'])).result).toMatchObject({
      blockers: [{ code: 'release_rolled_back' }],
    });
    expect((await publish(['dry_run=true', 'resume=true'])).result).toMatchObject({ blockers: [] });
    expect(await publish([])).toMatchObject(refused);
    expect(world.attested().localized).toBeNull();
    expect((await publish(['resume=true'])).result).toMatchObject({ localized_release_id: '2.0-l1' });
    expect((await publish([])).status).toBe('succeeded');
  });

  test('never goes back to a release that was taken back itself', async () => {
    const world = await withLocalized(3);
    await world.act('localized-rollback');
    expect(world.attested().localized?.release_id).toBe('1.0-l2');
    await world.act('localized-rollback');
    expect(world.attested().localized?.release_id).toBe('1.0-l1');
    // By name it is possible, and then it counts as taken back no longer.
    await world.act('localized-rollback', { localized_release_id: '1.0-l3' });
    await world.publish({ 'a.csv': 'text 4' });
    await world.act('localized-rollback');
    expect(world.attested().localized?.release_id).toBe('1.0-l3');
  });

  test('refuses releases that are unknown, current, or made for another official one', async () => {
    const world = await createLocalizedWorld();
    expect(await refusal(world)).toMatchObject({ code: 'nothing_to_roll_back' });
    await world.publish({ 'a.csv': 'text 1' });
    const named = (id: string) => ({ localized_release_id: id });
    expect(await refusal(world, named('none'))).toMatchObject({ code: 'unknown_release' });
    expect(await refusal(world, named('1.0'))).toMatchObject({ code: 'unknown_release' });
    expect(await refusal(world, named('1.0-l1'))).toMatchObject({ code: 'nothing_to_roll_back' });
    world.upstream.releaseId = '2.0';
    world.upstream.files.set('c.bin', 'new');
    await world.act('sync');
    expect(await refusal(world, named('1.0-l1'))).toMatchObject({ code: 'base_mismatch' });
  });

  test('of a named release is refused when another one is current', async () => {
    const world = await withLocalized(3);
    for (const args of [['from=1.0-l2'], ['from=1.0-l2', 'dry_run=true']]) {
      expect(await world.act('localized-rollback', { args })).toMatchObject({
        status: 'failed',
        failure_code: 'release_changed',
        failure_reason: expect.stringContaining('1.0-l2 is no longer current') as string,
      });
    }
    expect(world.attested().localized?.release_id).toBe('1.0-l3');
    expect(createRollbackRecords(world.database).stoppedBy()).toBeNull();
    expect(await world.act('localized-rollback', { args: ['from=1.0-l3'] })).toMatchObject({
      status: 'succeeded',
      result: { localized_release_id: '1.0-l2' },
    });
  });

  test('to a damaged release changes nothing', async () => {
    const world = await withLocalized(2);
    await world.damage('text 1', 'rotten');
    expect(await world.act('localized-rollback')).toMatchObject({
      status: 'failed',
      failure_code: 'release_damaged',
    });
    expect(world.attested()).toMatchObject({
      official: { result: 'PASSED' },
      localized: { release_id: '1.0-l2', result: 'PASSED' },
    });
    expect(createRollbackRecords(world.database).stoppedBy()).toBeNull();
    // The damage is known now, so the next one withdraws the channel instead.
    await world.act('localized-rollback');
    expect(world.attested().localized).toBeNull();
  });

  test.each([
    ...ROLLBACK_FAILPOINTS,
    'release.attestation.signed',
    'release.attestation.published',
    'release.database.current',
  ])('that is stopped at %s leaves the old or the new release', async (place) => {
    const world = await withLocalized(2);
    const { version } = world.attested();
    world.script.failAt = place;
    expect((await world.act('localized-rollback')).status).toBe('failed');
    await world.restart();
    const { localized, version: after } = world.attested();
    expect(['1.0-l1', '1.0-l2']).toContain(localized?.release_id);
    expect(localized?.result).toBe('PASSED');
    expect(after).toBeGreaterThan(version);
    if (localized?.release_id === '1.0-l2') await world.act('localized-rollback');
    expect(world.attested().localized?.release_id).toBe('1.0-l1');
  });

  test.each(ROLLBACK_FAILPOINTS.slice(1))(
    'that withdraws and is stopped at %s has withdrawn',
    async (place) => {
      const world = await withLocalized(1);
      world.script.failAt = place;
      expect((await world.act('localized-rollback')).status).toBe('failed');
      await world.restart();
      expect(world.attested().localized).toBeNull();
    },
  );

  test('holds the units before the next publish when the rollback could not', async () => {
    const world = await withLocalized(2);
    world.script.failAt = 'localized.rollback.switched';
    await world.act('localized-rollback', { reviewer: 'Ada' });
    await world.restart();
    expect(world.textCalls).toEqual([]);
    await world.publish({ 'a.csv': 'text 3' });
    const taken = { from: '1.0-l2', to: '1.0-l1', reviewer: 'Ada', reason: null };
    // The files of a patch manifest have no known texts.
    expect(world.textCalls).toEqual([{ hold: taken }, { published: null }]);
    await world.publish({ 'a.csv': 'text 4' });
    expect(world.textCalls.slice(2)).toEqual([{ published: null }]);
  });

  test('that took effect has succeeded also while the units cannot be held, says so, and holds them before the next publish', async () => {
    const world = await withLocalized(2);
    world.texts.holdError = new TaskError('translation_unavailable', 'translation.db is damaged');
    const task = await world.act('localized-rollback', { reviewer: 'Ada' });
    expect(task).toMatchObject({
      status: 'succeeded',
      result: { rolled_back_release_id: '1.0-l2', localized_release_id: '1.0-l1', held_units: null },
    });
    expect(task.result?.['open']).toBe(
      'the release is rolled back; units are put on hold and tasks are marked at the next publish: translation.db is damaged',
    );
    expect(world.attested().localized?.release_id).toBe('1.0-l1');
    expect(createRollbackRecords(world.database).stoppedBy()).toMatchObject({ held_units: null });
    expect(world.textCalls).toEqual([{ published: '1.0-l1' }]);
    world.texts.holdError = null;
    await world.publish({ 'a.csv': 'text 3' });
    expect(world.textCalls[1]).toEqual({
      hold: { from: '1.0-l2', to: '1.0-l1', reviewer: 'Ada', reason: null },
    });
  });

  test('that took effect has succeeded also when the full database cannot record it, says so, and is ended by the next publish or rollback', async () => {
    const world = await withLocalized(3);
    const { database } = world;
    const pages = Number(database.prepare('PRAGMA page_count').get()?.['page_count']);
    database.prepare('CREATE TABLE filler (bytes BLOB)').run();
    database
      .prepare(
        `CREATE TRIGGER fill AFTER UPDATE OF switched_at ON localized_rollback
         BEGIN INSERT INTO filler VALUES (zeroblob(1000000)); END`,
      )
      .run();
    database.prepare(`PRAGMA max_page_count = ${pages + 50}`).get();
    const task = await world.act('localized-rollback', { reviewer: 'Ada' });
    expect(task).toMatchObject({
      status: 'succeeded',
      result: {
        rolled_back_release_id: '1.0-l3',
        localized_release_id: '1.0-l2',
        held_units: null,
        open: expect.stringMatching(
          /^the release is rolled back, so do not roll back again; the daemon records it .*: .*full/,
        ) as string,
      },
    });
    expect(world.textCalls).toEqual([{ published: '1.0-l2' }]);
    expect(world.attested().localized).toMatchObject({ release_id: '1.0-l2', result: 'PASSED' });
    const records = createRollbackRecords(database);
    expect(records.stoppedBy()).toMatchObject({ switched_at: null });
    expect(progress(world)).toBe('in_effect');
    expect(world.localized().automation.status().message).toBe(
      'automatic publishing is stopped since localized release 1.0-l3 was rolled back by Ada; publish with args=resume=true to resume it',
    );
    expect(world.localized().rollbackOf('1.0-l3')).toMatchObject({ reviewer: 'Ada' });
    const trial = await world.act('localized-rollback', { args: ['dry_run=true'] });
    expect(trial.result).toMatchObject({
      rolled_back_release_id: '1.0-l2',
      localized_release_id: '1.0-l1',
    });
    database.prepare('DROP TRIGGER fill').run();
    await world.act('localized-rollback');
    // Not the release that was taken back.
    expect(world.attested().localized).toMatchObject({ release_id: '1.0-l1' });
    expect(records.takenBackBy('1.0-l3')).toMatchObject({ reviewer: 'Ada' });
    await world.publish({ 'a.csv': 'text 4' });
    expect(world.textCalls).toContainEqual({
      hold: { from: '1.0-l3', to: '1.0-l2', reviewer: 'Ada', reason: null },
    });
    expect(records.unfinished()).toEqual([]);
  });

  test('that could not record its effect is recorded at the start, and its units are held by the next look', async () => {
    const world = await withLocalized(2);
    world.script.failAt = 'localized.rollback.switched';
    await world.act('localized-rollback', { reviewer: 'Ada' });
    world.database.prepare('UPDATE localized_rollback SET switched_at = NULL').run();
    await world.restart();
    const records = createRollbackRecords(world.database);
    expect(records.takenBackBy('1.0-l2')).toBeNull();
    world.localized().recordRollback();
    expect(records.takenBackBy('1.0-l2')).toMatchObject({ reviewer: 'Ada' });
    expect(world.textCalls).toEqual([]);
    const [check] = world.localized().checks;
    await check?.run(new AbortController().signal);
    await until(() => records.unfinished().length === 0);
    expect(world.textCalls).toEqual([
      { hold: { from: '1.0-l2', to: '1.0-l1', reviewer: 'Ada', reason: null } },
    ]);
  });

  test('tells nothing of itself while its task waits or runs, and publishing is stopped', async () => {
    const world = await withLocalized(1);
    world.script.failAt = 'localized.rollback.recorded';
    const task = await world.act('localized-rollback');
    const live = world.database.prepare('UPDATE task SET status = ? WHERE task_id = ?');
    const seen = async (status: string): Promise<unknown> => {
      live.run(status, task.task_id);
      const [check] = world.localized().checks;
      const { state, message } = world.localized().automation.status();
      const finding = await check?.run(new AbortController().signal);
      return [progress(world), state, message.includes('roll back again'), finding?.status];
    };
    expect(await seen('failed')).toEqual(['without_effect', 'stopped', true, 'degraded']);
    for (const status of ['queued', 'running', 'cancelling']) {
      expect(await seen(status)).toEqual(['in_progress', 'stopped', false, 'ok']);
    }
    live.run('failed', task.task_id);
    await world.publish({ 'a.csv': 'text 2' });
    expect(await seen('failed')).toEqual(['overtaken', 'stopped', false, 'degraded']);
  });

  test('survives a database that is restored from before it', async () => {
    const world = await withLocalized(1);
    const backup = join(await temporaryDirectory(), 'backup.sqlite');
    world.database.prepare('VACUUM INTO ?').run(backup);
    await world.act('localized-rollback');
    expect(world.attested().localized).toBeNull();
    await world.restart({ backup });
    expect(world.attested()).toMatchObject({ official: { result: 'PASSED' }, localized: null });
  });

  test('is not what a database from a backup finds when the release only waits for its verification', async () => {
    const world = await withLocalized(1);
    world.database.prepare(`UPDATE release SET verified_at = 0 WHERE channel = 'localized'`).run();
    const backup = join(await temporaryDirectory(), 'backup.sqlite');
    world.database.prepare('VACUUM INTO ?').run(backup);
    await world.act('refresh', { force: true });
    expect(world.attested().localized).toBeNull();
    await world.restart({ backup });
    expect(world.row('1.0-l1')).toBe('current');
    await world.act('verify', { localized_release_id: '1.0-l1' });
    expect(world.attested().localized).toMatchObject({ release_id: '1.0-l1', result: 'PASSED' });
  });

  test('is kept when the verification of its release was old', async () => {
    const world = await withLocalized(1);
    world.database.prepare(`UPDATE release SET verified_at = 0 WHERE channel = 'localized'`).run();
    const backup = join(await temporaryDirectory(), 'backup.sqlite');
    world.database.prepare('VACUUM INTO ?').run(backup);
    await world.act('verify', { localized_release_id: '1.0-l1' });
    await world.act('localized-rollback');
    expect(world.attested().retained).toMatchObject([{ release_id: '1.0-l1' }]);
    await world.restart({ backup });
    expect(world.attested().localized).toBeNull();
    expect(world.row('1.0-l1')).toBe('superseded');
  });

  test('is kept when the database is older than any verification that counts', async () => {
    const world = await withLocalized(1);
    const backup = join(await temporaryDirectory(), 'backup.sqlite');
    world.database.prepare('VACUUM INTO ?').run(backup);
    await world.act('localized-rollback');
    world.clock.jumpAhead(8 * 86_400_000);
    await world.act('verify');
    await world.act('refresh', { force: true });
    expect(world.attested()).toMatchObject({ localized: null, retained: [] });
    await world.restart({ backup });
    expect(world.row('1.0-l1')).toBe('superseded');
    await world.act('verify', { localized_release_id: '1.0-l1' });
    expect(world.attested().localized).toBeNull();
  });
});

const rollback = (id: string, from: string, to: string | null, switchedAt: number | null): Rollback => ({
  task_id: id,
  from_release_id: from,
  to_release_id: to,
  reviewer: null,
  reason: null,
  at: 5,
  switched_at: switchedAt,
  held_units: null,
  reinstated_at: null,
  resumed_at: null,
});

/** Which rollback stops publishing, and how far it has come, while these tasks run. */
function stop(current: string | null, stops: readonly Rollback[], live: readonly string[] = []): unknown {
  const pointer = () => (current === null ? null : { release_id: current });
  const get = (id: string) => ({ status: live.includes(id) ? 'running' : 'failed' });
  const found = stopOf({
    releases: { pointer, announcedOf: () => null } as unknown as ReleaseRepository,
    rollbacks: { stops: () => stops } as unknown as RollbackRecords,
    tasks: { get } as unknown as TaskEngine,
  });
  return found === null ? null : [found.rollback.task_id, found.progress];
}

describe('a rollback', () => {
  const open = rollback('t2', 'l3', 'l2', null);
  const withdrawing = rollback('t2', 'l1', null, null);

  it.each<[string, string | null, Rollback, readonly string[], string]>([
    ['is in effect when it is recorded', 'l4', rollback('t2', 'l3', 'l2', 7), [], 'in_effect'],
    ['is in effect when its release is current', 'l2', open, [], 'in_effect'],
    ['is in effect although its task runs', 'l2', open, ['t2'], 'in_effect'],
    ['is in effect when it withdrew the channel', null, withdrawing, ['t2'], 'in_effect'],
    ['is in progress while its task runs', 'l3', open, ['t2'], 'in_progress'],
    ['has no effect when its task has ended', 'l3', open, [], 'without_effect'],
    ['has no effect when it did not withdraw', 'l1', withdrawing, [], 'without_effect'],
    ['is overtaken by another release', 'l4', open, [], 'overtaken'],
  ])('%s', (_when, current, newest, live, progress) => {
    expect(stop(current, [newest], live)).toEqual(['t2', progress]);
  });

  it('leaves the previous one as the cause while its task runs', () => {
    const previous = rollback('t1', 'l4', 'l3', 4);
    expect(stop('l3', [open, previous], ['t2'])).toEqual(['t1', 'in_effect']);
    expect(stop('l3', [open, previous])).toEqual(['t2', 'without_effect']);
    expect(stop('l3', [])).toBeNull();
  });
});

describe('the status of the localized release', () => {
  test('the history has the release that became current last, however many were made after it', () => {
    // As the repository lists them: those that were made last are first.
    const rows = Array.from({ length: 25 }, (_, age) => ({
      release_id: `l${25 - age}`,
      base_release_id: 'r1',
      state: 'superseded',
      published_at: age === 24 ? 1000 : 100 - age,
    }));
    const releases = {
      current: () => null,
      pointer: () => null,
      list: (_channel: string, limit: number) => rows.slice(0, limit),
    } as unknown as ReleaseRepository;
    const { history } = localizedStatusOf(releases, () => null);
    expect(history).toHaveLength(20);
    expect(history.slice(0, 2).map(({ localized_release_id: id }) => id)).toEqual(['l1', 'l25']);
  });
});
