import { partial } from '../../support/partial.ts';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LOCALIZED_PUBLISH_JOB } from '../../../src/localization/localized/publish/publish-job.ts';
import { RELEASE_JOBS } from '../../../src/releases/jobs/release-jobs.ts';
import type { ScheduleIntervals } from '../../../src/engine/schedules/configured-schedules.ts';
import { scheduledCall } from '../../../src/engine/schedules/scheduled-call.ts';
import { createJobRegistry, implementJob } from '../../../src/engine/tasks/job.ts';
import { createTestSchedules, type TestSchedules } from '../../support/schedules.ts';
import { settle } from '../../support/task-engine.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const INTERVALS: ScheduleIntervals = {
  syncSeconds: 900,
  verifySeconds: 3600,
  cleanupSeconds: 86_400,
  backupSeconds: null,
};

function configured(change: Partial<ScheduleIntervals> = {}, random?: () => number): TestSchedules {
  const world = createTestSchedules(random === undefined ? {} : { random });
  world.schedules.configure({ ...INTERVALS, ...change });
  return world;
}

const never = new AbortController().signal;

const nowOf = (world: TestSchedules): number => Math.floor(world.clock.now() / 1000);

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return await promise.then(
    () => 'accepted',
    (error: unknown) => (error as { code: string }).code,
  );
}

/** Moves the clock minute by minute and ends every running task. */
async function pass(world: TestSchedules, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    await world.clock.advance(60_000);
    await settle();
    for (const run of [...world.sync.runs, ...world.verify.runs]) run.succeed();
    await settle();
  }
}

describe('configured schedules', () => {
  describe('the schedules of the configuration', () => {
    it('exist without any caller, marked as configured, and run', async () => {
      const world = configured();
      const now = nowOf(world);
      expect(await world.list()).toMatchObject([
        { id: 'configured:cleanup', action: 'release-cleanup', every_seconds: 86_400 },
        { id: 'configured:sync', action: 'sync', every_seconds: 900, next_run_unix_seconds: now + 450 },
        { id: 'configured:verify:localized', args: ['channel=localized'], every_seconds: 3600 },
        { id: 'configured:verify:official', args: ['channel=official'], every_seconds: 3600 },
      ]);
      expect((await world.list()).every(({ origin, enabled }) => origin === 'configured' && enabled)).toBe(
        true,
      );
      await world.act('schedule-add', { id: 'mine', group: 'res', action: 'sync', every_seconds: 60 });
      expect(await world.row('mine')).toMatchObject({ origin: 'manual', replaced_by: null });
      await world.act('schedule-remove', { id: 'mine' });
      await pass(world, 60);
      expect(world.sync.order).toHaveLength(4);
      expect(world.verify.order).toHaveLength(2);
    });

    it('start at a random phase in the second half of the interval', async () => {
      const early = configured({}, () => 0);
      const late = configured({}, () => 0.999);
      const next = async (world: TestSchedules): Promise<number> =>
        Number((await world.row('configured:sync')).next_run_unix_seconds) - nowOf(world);
      expect([await next(early), await next(late)]).toEqual([450, 899]);
    });

    it('follow a change: an equal interval keeps its next run, 0 removes the schedule, manual ones stay', async () => {
      const world = configured();
      await world.act('schedule-add', { id: 'mine', group: 'res', action: 'sync', every_seconds: 600 });
      await world.clock.advance(100_000);
      const before = await world.row('configured:sync');
      const cleanup = await world.row('configured:cleanup');
      world.schedules.configure({ ...INTERVALS, syncSeconds: 1200, verifySeconds: null });
      expect(await world.row('configured:sync')).toMatchObject({
        every_seconds: 1200,
        next_run_unix_seconds: nowOf(world) + 600,
      });
      expect(await world.row('configured:cleanup')).toEqual(cleanup);
      expect((await world.list()).map(({ id }) => id)).toEqual([
        'configured:cleanup',
        'configured:sync',
        'mine',
      ]);
      expect(before.next_run_unix_seconds).not.toBe(nowOf(world) + 600);
    });

    it('keep their runs and their next run over a restart', async () => {
      const path = join(await temporaryDirectory(), 'main.db');
      const first = createTestSchedules({ path });
      first.schedules.configure(INTERVALS);
      const before = await first.row('configured:sync');
      await first.schedules.stop();
      await first.engine.stop(0);
      const second = createTestSchedules({ path, bootId: 'boot-2', clock: first.clock, started: false });
      second.schedules.configure(INTERVALS);
      expect(await second.row('configured:sync')).toEqual(before);
    });

    it('can only be disabled by hand, until the interval changes; the doctor names it', async () => {
      const world = configured();
      const id = 'configured:sync';
      expect(await codeOf(world.act('schedule-update', { id, every_seconds: 60 }))).toBe(
        'schedule_configured',
      );
      expect(await codeOf(world.act('schedule-remove', { id }))).toBe('schedule_configured');
      expect(
        await codeOf(
          world.act('schedule-add', { id: 'configured:x', group: 'res', action: 'sync', every_seconds: 9 }),
        ),
      ).toBe('invalid_request');
      await world.act('schedule-update', {
        id,
        enabled: false,
        reviewer: 'mika',
        reason: 'upstream is moving',
      });
      await pass(world, 60);
      expect(world.sync.order).toEqual([]);
      world.schedules.configure(INTERVALS);
      expect(await world.row(id)).toMatchObject({ enabled: false });
      expect(await world.schedules.check.run(never)).toMatchObject({
        status: 'degraded',
        message: expect.stringMatching(/^configured:sync: disabled by hand; /u) as unknown,
      });
      world.schedules.configure({ ...INTERVALS, syncSeconds: 600 });
      expect(await world.row(id)).toMatchObject({ enabled: true });
      expect(await world.schedules.check.run(never)).toEqual({ status: 'ok', message: '4 enabled' });
    });
  });

  describe('a schedule of a ReleaseChannel', () => {
    it('replaces the configured one while it exists, also while it is disabled', async () => {
      const world = configured();
      const id = 'relch:games:main:sync';
      await world.act('schedule-add', { id, group: 'res', action: 'sync', every_seconds: 1800 });
      expect(await world.row(id)).toMatchObject({ origin: 'controller', replaced_by: null });
      expect(await world.row('configured:sync')).toMatchObject({ replaced_by: id });
      expect(world.schedules.nextRunOf('sync')).toBe(nowOf(world) + 1800);
      await pass(world, 60);
      expect(await world.row('configured:sync')).toMatchObject({ run_count: 0, skipped_overlap: 0 });
      expect(world.sync.order).toHaveLength(2);

      await world.act('schedule-update', { id, enabled: false });
      await pass(world, 60);
      expect(world.sync.order).toHaveLength(2);
      expect(world.schedules.nextRunOf('sync')).toBeNull();

      // No missed run is made up for: the daemons of all pods would run it together.
      await world.act('schedule-remove', { id });
      await pass(world, 1);
      expect(world.sync.order).toHaveLength(2);
      await pass(world, 14);
      expect(world.sync.order).toHaveLength(3);
    });

    it('is named by the doctor while it is disabled and holds a configured one on purpose, with status ok', async () => {
      const world = configured();
      const id = 'relch:games:main:sync';
      const check = async (): Promise<unknown> => await world.schedules.check.run(never);
      await world.act('schedule-add', { id, group: 'res', action: 'sync', every_seconds: 1800 });
      expect(await check()).toEqual({ status: 'ok', message: '4 enabled, 1 replaced' });
      await world.act('schedule-update', { id, enabled: false });
      const held = {
        status: 'ok',
        message:
          '3 enabled, 1 replaced; configured:sync: held by the ReleaseChannel games/main, which is suspended or pinned; if ' +
          'it was deleted, remove its schedule with `slipway ctl run schedule-remove id=relch:games:main:sync`',
      };
      expect(await check()).toEqual(held);
      await pass(world, 46);
      expect(await check()).toEqual(held);

      // A schedule of another object syncs.
      const other = { id: 'relch:games:new:sync', group: 'res', action: 'sync', every_seconds: 1800 };
      await world.act('schedule-add', other);
      expect(await check()).toEqual({ status: 'ok', message: '4 enabled, 1 replaced' });
      await world.act('schedule-remove', { id: other.id });
      await world.act('schedule-remove', { id });
      expect(await check()).toEqual({ status: 'ok', message: '4 enabled' });
    });

    it('replaces the verification of its own channel only, and only while it is enabled', async () => {
      const world = configured();
      const id = 'relch:games:main:verify';
      const args = ['channel=localized'];
      await world.act('schedule-add', { id, group: 'res', action: 'verify', args, every_seconds: 86_400 });
      const replaced = async (): Promise<readonly unknown[]> =>
        (await world.list()).map((row) => [row.id, row.replaced_by]);
      expect(await replaced()).toEqual([
        ['configured:cleanup', null],
        ['configured:sync', null],
        ['configured:verify:localized', id],
        ['configured:verify:official', null],
        [id, null],
      ]);
      await world.act('schedule-update', { id, enabled: false });
      expect(await world.row('configured:verify:localized')).toMatchObject({ replaced_by: null });
    });
  });
});

const jobs = createJobRegistry();

function parse(action: string, args: readonly string[]): ReturnType<typeof scheduledCall> {
  return scheduledCall(partial({ group: 'res', action, args }), jobs);
}

describe('the arguments of a schedule', () => {
  jobs.register(...RELEASE_JOBS.map((job) => implementJob(job, async () => ({}))));

  it('become those of the job, each as the type of its field', () => {
    expect(parse('sync', ['force=true'])).toMatchObject({ kind: 'sync', args: { force: true } });
    expect(parse('release-cleanup', ['count=3', 'dry_run=true', 'reason=a=b'])).toEqual({
      kind: 'release-cleanup',
      args: { count: 3, force: false, dry_run: true },
      audit: { reason: 'a=b' },
    });
    expect(parse('release-cleanup', ['id=12']).args).toMatchObject({ id: '12' });
    expect(parse('verify', ['channel=official']).args).toEqual({ force: false, channel: 'official' });
  });

  it.each([
    ['sync', ['force=yes'], ['/args/0']],
    ['sync', ['force=true', 'force=false'], ['/args/1']],
    ['sync', ['count=3'], ['/args/0']],
    ['sync', ['__proto__=1'], ['/args/0']],
    ['verify', ['force=true', 'channel=none'], ['/args/1']],
    ['verify', ['args=channel'], ['/args/0']],
    ['release-cleanup', ['count=0'], ['/args/0']],
    ['release-cleanup', ['count=1', 'id=r1'], ['/args/0', '/args/1']],
  ] as const)('of %s refuse %j', (action, args, pointers) => {
    let refusal: unknown = null;
    try {
      parse(action, args);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toMatchObject({
      code: 'invalid_request',
      options: { errors: pointers.map((pointer) => ({ pointer })) },
    });
  });

  it('cannot undo a decision of a person', () => {
    jobs.register(implementJob(LOCALIZED_PUBLISH_JOB, async () => ({})));
    const call = (...args: string[]) =>
      scheduledCall(
        partial({ group: 'i18n', action: 'localized-publish', args: ['from_worker=true', ...args] }),
        jobs,
      );
    expect(call('resume=false').args).toMatchObject({ from_worker: true, resume: false });
    expect(() => call('reason=nightly', 'resume=true')).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        message:
          'resume is for a person who decides, so a schedule cannot set it; run localized-publish with it by hand',
        options: { errors: [expect.objectContaining({ pointer: '/args/2' })] },
      }),
    );
  });

  it('name the field in the message', () => {
    expect(() => parse('release-cleanup', ['count=0'])).toThrow(
      expect.objectContaining({
        options: { errors: [{ pointer: '/args/0', message: expect.stringMatching(/^count must be/) }] },
      }),
    );
  });
});
