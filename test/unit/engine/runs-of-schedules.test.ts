import { join } from 'node:path';
import { array, assert, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { MEMORY_IMPORT_JOB } from '../../../src/localization/memory/memory-jobs.ts';
import { createTaskReports } from '../../../src/daemon/reports/task-reports.ts';
import {
  afterOverlap,
  afterRequestedRuns,
  afterRun,
  isDue,
  nextSlot,
} from '../../../src/engine/schedules/next-run.ts';
import { TASK_QUEUED_FAILPOINT } from '../../../src/engine/schedules/schedule-runs.ts';
import type { Schedule } from '../../../src/engine/schedules/schedule.ts';
import { implementJob, type JobDefinition } from '../../../src/engine/tasks/job.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { act } from '../../support/actions.ts';
import { askReport } from '../../support/reports.ts';
import { createTestSchedules, type TestSchedules } from '../../support/schedules.ts';
import { scriptedHandler, settle } from '../../support/task-engine.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const never = new AbortController().signal;
const EVERY_MINUTE = { id: 'm', group: 'res', action: 'sync', every_seconds: 60 };

/** Moves the clock second by second and ends every running sync. */
async function pass(world: TestSchedules, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    await world.clock.advance(1000);
    await settle();
    for (const run of world.sync.runs) run.succeed();
    await settle();
  }
}

function ofKind(world: TestSchedules, kind: string): number {
  return world.engine.list(500).filter((task) => task.kind === kind).length;
}

describe('schedules', () => {
  describe('the token of an import', () => {
    const IMPORT = { id: 'i', group: 'i18n', action: 'memory-import', every_seconds: 60 };
    const change = async (world: TestSchedules, action: string, tokenId: string | null, body: object) => {
      await act(world.schedules.actions, action, { ...body }, { tokenId, allow: null });
      return (await world.row('i')).args;
    };

    it('is that of the caller who chose its arguments, whatever they say', async () => {
      const world = createTestSchedules();
      world.engine.jobs.register(scriptedHandler('memory-import', MEMORY_IMPORT_JOB));
      const forged = ['file=a.tmx', 'token_id=ben'];
      expect(await change(world, 'schedule-add', 'ann', { ...IMPORT, args: forged })).toEqual([
        'file=a.tmx',
        'token_id=ann',
      ]);
      expect(await change(world, 'schedule-update', 'cho', { id: 'i', every_seconds: 90 })).toContain(
        'token_id=ann',
      );
      expect(await change(world, 'schedule-update', 'cho', { id: 'i', args: forged })).toEqual([
        'file=a.tmx',
        'token_id=cho',
      ]);
      expect(
        await change(world, 'schedule-update', null, { id: 'i', args: ['file=b.tmx', 'token_id=ben'] }),
      ).toEqual(['file=b.tmx']);
    });
  });

  describe('running schedules', () => {
    it('runs at a fixed rate, and records the result of each run', async () => {
      const world = createTestSchedules();
      await world.act('schedule-add', EVERY_MINUTE);
      const first = (await world.row('m')).next_run_unix_seconds ?? 0;
      await world.clock.advance(59_000);
      expect(world.sync.order).toEqual([]);
      await world.clock.advance(1000);
      await settle();
      const [taskId] = world.sync.order;
      expect(await world.row('m')).toMatchObject({
        last_task_id: taskId,
        last_status: 'running',
        last_run_unix_seconds: first,
        next_run_unix_seconds: first + 60,
      });
      expect(world.engine.get(taskId ?? '')).toMatchObject({ schedule_id: 'm', args: { force: false } });
      world.sync.runs[0]?.fail(new Error('broken'));
      await settle();
      expect(await world.row('m')).toMatchObject({ last_status: 'failed', run_count: 1 });
      await pass(world, 600);
      expect(await world.row('m')).toMatchObject({
        run_count: 11,
        last_status: 'succeeded',
        next_run_unix_seconds: first + 660,
      });
      expect(world.sync.order).toHaveLength(11);
    });

    it('skips an overlap, also with a run that joined an equal task of another caller', async () => {
      const world = createTestSchedules();
      await world.act('schedule-add', { ...EVERY_MINUTE, delay_seconds: 1 });
      const { task } = world.engine.submit({ kind: 'sync', args: { force: false }, dedupe: true });
      await world.clock.advance(1000);
      await settle();
      expect(await world.row('m')).toMatchObject({ run_count: 1, last_task_id: task.task_id });
      await world.clock.advance(120_000);
      await settle();
      expect(await world.row('m')).toMatchObject({ run_count: 1, skipped_overlap: 2 });
      await pass(world, 60);
      expect(await world.row('m')).toMatchObject({ run_count: 2, skipped_overlap: 2 });
      expect(ofKind(world, 'sync')).toBe(2);
    });

    it('runs once without an interval, and max_runs times with it', async () => {
      const world = createTestSchedules();
      await world.act('schedule-add', { id: 'once', group: 'res', action: 'sync', delay_seconds: 5 });
      await world.act('schedule-add', { ...EVERY_MINUTE, max_runs: 2 });
      await pass(world, 300);
      expect(await world.list()).toMatchObject([
        { id: 'm', run_count: 2, enabled: false, exhausted: true, next_run_unix_seconds: null },
        { id: 'once', run_count: 1, enabled: false, exhausted: false, next_run_unix_seconds: null },
      ]);
      expect(ofKind(world, 'sync')).toBe(3);
    });

    it('makes one run of all the slots that passed while nothing ran', async () => {
      const path = join(await temporaryDirectory(), 'main.db');
      const clock = new FakeClock();
      const before = createTestSchedules({ path, clock, started: false });
      await before.act('schedule-add', EVERY_MINUTE);
      const first = (await before.row('m')).next_run_unix_seconds ?? 0;
      await clock.advance(3_600_000 + 5000);
      const after = createTestSchedules({ path, clock, bootId: 'boot-2' });
      await settle();
      expect(await after.row('m')).toMatchObject({ run_count: 1, next_run_unix_seconds: first + 3600 });
    });

    it('notices that the wall clock was set forward', async () => {
      const world = createTestSchedules();
      await world.act('schedule-add', { ...EVERY_MINUTE, every_seconds: 86_400 });
      world.clock.jumpTo(world.clock.now() + 90_000_000);
      await world.clock.advance(30_000);
      await settle();
      expect(world.sync.order).toHaveLength(1);
    });

    it('plans again when a wall clock that was ahead is right again, also after a restart', async () => {
      const path = join(await temporaryDirectory(), 'main.db');
      const clock = new FakeClock();
      const world = createTestSchedules({ path, clock });
      const check = async (): Promise<unknown> => await world.schedules.check.run(never);
      world.schedules.configure({
        syncSeconds: 60,
        verifySeconds: null,
        cleanupSeconds: null,
        backupSeconds: null,
      });
      await world.act('schedule-add', { ...EVERY_MINUTE, action: 'verify' });
      // Its first run is far away because somebody wants it so.
      await world.act('schedule-add', { ...EVERY_MINUTE, id: 'later', delay_seconds: 86_400_000 });
      const later = (await world.row('later')).next_run_unix_seconds;
      const right = clock.now();
      clock.jumpTo(right + 400 * 86_400_000);
      await clock.advance(30_000);
      await settle();
      world.sync.runs[0]?.succeed();
      world.verify.runs[0]?.succeed();
      await settle();
      clock.jumpTo(right + 30_000);
      expect(await check()).toMatchObject({
        status: 'degraded',
        message: expect.stringContaining('wall clock that was ahead') as string,
      });
      await world.schedules.stop();
      const after = createTestSchedules({ path, clock, bootId: 'boot-2' });
      await settle();
      for (const id of ['configured:sync', 'm']) {
        const { next_run_unix_seconds: next } = await after.row(id);
        expect([id, (next ?? 0) > clock.now() / 1000, (next ?? 0) <= clock.now() / 1000 + 60]).toEqual([
          id,
          true,
          true,
        ]);
      }
      expect((await after.row('later')).next_run_unix_seconds).toBe(later);
      expect(await after.schedules.check.run(never)).toMatchObject({ status: 'ok' });
      await clock.advance(60_000);
      await settle();
      expect(after.sync.order).toHaveLength(1);
    });

    it('sleeps in between, and wakes for a change', async () => {
      const world = createTestSchedules();
      await settle();
      const asleep = world.clock.sleeping;
      await world.act('schedule-add', { ...EVERY_MINUTE, every_seconds: 3600 });
      expect(world.clock.sleeping).toBe(asleep);
      await world.act('schedule-update', { id: 'm', delay_seconds: 2 });
      await world.clock.advance(2000);
      await settle();
      expect(world.sync.order).toHaveLength(1);
    });
  });

  describe('a run', () => {
    it('and its task are written together or not at all', async () => {
      let broken = true;
      const failpoints = {
        hit: (name: string): void => {
          if (broken && name === TASK_QUEUED_FAILPOINT) throw new Error('stopped');
        },
      };
      const world = createTestSchedules({ failpoints });
      await world.act('schedule-add', { ...EVERY_MINUTE, delay_seconds: 0 });
      const before = await world.row('m');
      expect([before.run_count, ofKind(world, 'sync')]).toEqual([0, 0]);
      broken = false;
      await world.clock.advance(5000);
      await settle();
      expect([(await world.row('m')).run_count, ofKind(world, 'sync')]).toEqual([1, 1]);
    });

    it('happens once per slot, however many schedulers share the database', async () => {
      const path = join(await temporaryDirectory(), 'main.db');
      const clock = new FakeClock();
      const one = createTestSchedules({ path, clock });
      await one.act('schedule-add', { ...EVERY_MINUTE, action: 'verify' });
      const two = createTestSchedules({ path, clock, started: false });
      two.schedules.start();
      await clock.advance(60_000);
      await settle();
      expect([(await two.row('m')).run_count, ofKind(two, 'verify')]).toEqual([1, 1]);
    });

    it('of an action that this version does not have fails, and the schedule continues', async () => {
      const world = createTestSchedules();
      await world.act('schedule-add', EVERY_MINUTE);
      world.database.prepare(`UPDATE schedule SET "group" = 'parse', action = 'parse'`).run();
      await world.clock.advance(60_000);
      expect(await world.row('m')).toMatchObject({ run_count: 1, last_status: 'failed', last_task_id: null });
      expect(await world.schedules.check.run(never)).toMatchObject({ status: 'degraded' });
      await world.act('schedule-update', { id: 'm', enabled: false });
      expect(await world.schedules.check.run(never)).toEqual({ status: 'ok', message: '0 enabled' });
    });
  });

  describe('a job that is not a control action', () => {
    const EXPORT_JOB = {
      kind: 'publish',
      summary: '',
      lane: 'i18n',
      scope: 'translate',
      groups: ['i18n'],
      arguments: z.strictObject({ format: z.enum(['xliff', 'csv']), max: z.int().optional() }),
      resumable: true,
      maxAttempts: 1,
      storeLock: 'none',
    } as const satisfies JobDefinition;
    const EXPORT = { id: 'e', group: 'i18n', action: 'publish', every_seconds: 60 };

    it('is scheduled, run and listed among the tasks once it is registered', async () => {
      const world = createTestSchedules();
      const add = { ...EXPORT, args: ['format=csv', 'max=3', 'reviewer=ann'] };
      await expect(world.act('schedule-add', add)).rejects.toMatchObject({ code: 'action_not_schedulable' });
      world.engine.jobs.register(implementJob(EXPORT_JOB, async ({ args }) => ({ exported: args.max ?? 0 })));
      await world.act('schedule-add', add);
      await world.clock.advance(60_000);
      await settle();
      const { items } = await askReport(createTaskReports(world.engine), 'task.list');
      expect(items.find(({ kind }) => kind === 'publish')).toMatchObject({
        lane: 'i18n',
        status: 'succeeded',
        args: { format: 'csv', max: 3 },
        result: { exported: 3 },
        schedule_id: 'e',
        reviewer: 'ann',
      });
      expect(await world.row('e')).toMatchObject({ run_count: 1, last_status: 'succeeded' });
      const run = await world.act('schedule-run', { group: 'i18n' });
      expect(run.result?.['task_ids']).toHaveLength(1);
    });

    it.each([
      [{ ...EXPORT, args: ['format=pdf'] }, 'invalid_request'],
      [{ ...EXPORT, args: [] }, 'invalid_request'],
      [{ ...EXPORT, group: 'res' }, 'action_not_schedulable'],
    ])('is refused with %j: %s', async (body, code) => {
      const world = createTestSchedules();
      world.engine.jobs.register(implementJob(EXPORT_JOB, async () => ({})));
      await expect(world.act('schedule-add', body)).rejects.toMatchObject({ code });
    });
  });

  describe('schedule-add and schedule-update', () => {
    it.each([
      [{ ...EVERY_MINUTE }, 'schedule_exists'],
      [{ ...EVERY_MINUTE, id: 'x', action: 'restart' }, 'action_not_schedulable'],
      [{ ...EVERY_MINUTE, id: 'x', group: 'parse' }, 'action_not_schedulable'],
      [{ ...EVERY_MINUTE, id: 'x', group: 'i18n', action: 'publish' }, 'action_not_schedulable'],
      [{ ...EVERY_MINUTE, id: 'x', args: ['count=2'] }, 'invalid_request'],
      [{ ...EVERY_MINUTE, id: 'a b' }, 'invalid_request'],
      [{ ...EVERY_MINUTE, id: 'x', every_seconds: 2 ** 50 }, 'invalid_request'],
    ])('refuses to add %j: %s', async (body, code) => {
      const world = createTestSchedules();
      await world.act('schedule-add', EVERY_MINUTE);
      await expect(world.act('schedule-add', body)).rejects.toMatchObject({ code });
      expect(await world.list()).toHaveLength(1);
    });

    it('answers with the schedule, under a generated name if none is given', async () => {
      const world = createTestSchedules();
      const { id: _, ...nameless } = EVERY_MINUTE;
      const task = await world.act('schedule-add', { ...nameless, enabled: false, reviewer: 'ann' });
      expect(task).toMatchObject({
        kind: 'schedule-add',
        status: 'succeeded',
        reviewer: 'ann',
        lane: 'admin',
      });
      expect(task.result).toEqual({ schedule: await world.row('generated-1') });
    });

    it('changes the named fields and keeps the rest', async () => {
      const world = createTestSchedules();
      await world.act('schedule-add', { ...EVERY_MINUTE, args: ['force=true'] });
      const now = Math.floor(world.clock.now() / 1000);
      await world.act('schedule-update', { id: 'm', every_seconds: 30, max_runs: 4 });
      expect(await world.row('m')).toMatchObject({
        every_seconds: 30,
        next_run_unix_seconds: now + 30,
        max_runs: 4,
        args: ['force=true'],
      });
      await world.act('schedule-update', { id: 'm', clear_args: true, clear_every: true });
      expect(await world.row('m')).toMatchObject({ args: [], every_seconds: null, enabled: true });
      const wrong = [
        [{ id: 'm', action: 'verify', args: ['channel=none'] }, 'invalid_request'],
        [{ id: 'm', group: 'i18n' }, 'action_not_schedulable'],
        [{ id: 'nobody', enabled: true }, 'unknown_schedule'],
      ] as const;
      for (const [body, code] of wrong) {
        await expect(world.act('schedule-update', body)).rejects.toMatchObject({ code });
      }
    });

    it('enables again without catching up, and refuses a schedule that could never run', async () => {
      const world = createTestSchedules();
      await world.act('schedule-add', { ...EVERY_MINUTE, max_runs: 1 });
      const first = (await world.row('m')).next_run_unix_seconds ?? 0;
      await world.act('schedule-update', { id: 'm', enabled: false });
      await world.clock.advance(300_000);
      await world.act('schedule-update', { id: 'm', enabled: true });
      expect(await world.row('m')).toMatchObject({ run_count: 0, next_run_unix_seconds: first + 300 });
      await pass(world, 60);
      expect(await world.row('m')).toMatchObject({ exhausted: true, enabled: false });
      const enable = { id: 'm', enabled: true };
      await expect(world.act('schedule-update', enable)).rejects.toMatchObject({ code: 'invalid_request' });
      await world.act('schedule-update', { ...enable, max_runs: 2 });
      expect(await world.row('m')).toMatchObject({ exhausted: false, enabled: true });
      await world.act('schedule-add', { id: 'once', group: 'res', action: 'sync', delay_seconds: 0 });
      await pass(world, 1);
      await expect(world.act('schedule-update', { id: 'once', enabled: true })).rejects.toMatchObject({
        code: 'invalid_request',
      });
    });
  });

  describe('schedule-run and schedule-remove', () => {
    it('queue consecutive runs and leave the next run unchanged', async () => {
      const world = createTestSchedules();
      await world.act('schedule-add', EVERY_MINUTE);
      const { next_run_unix_seconds: next } = await world.row('m');
      const { result } = await world.act('schedule-run', { id: 'm', count: 3 });
      expect(result?.['task_ids']).toHaveLength(3);
      expect(await world.row('m')).toMatchObject({ run_count: 3, next_run_unix_seconds: next });
      expect(ofKind(world, 'sync')).toBe(3);
      await world.act('schedule-update', { id: 'm', max_runs: 4 });
      expect((await world.act('schedule-run', { id: 'm', count: 3 })).result?.['task_ids']).toHaveLength(1);
      await expect(world.act('schedule-run', { id: 'm' })).rejects.toMatchObject({
        code: 'schedule_disabled',
      });
      await world.act('schedule-run', { id: 'm', force: true });
      expect(await world.row('m')).toMatchObject({ run_count: 5, exhausted: true });
    });

    it('run a group, up to a limit, disabled ones only if forced', async () => {
      const world = createTestSchedules();
      await expect(world.act('schedule-run', { group: 'res' })).rejects.toMatchObject({
        code: 'unknown_schedule',
      });
      for (const id of ['a', 'b', 'c'])
        await world.act('schedule-add', { ...EVERY_MINUTE, id, enabled: id === 'c' });
      const ids = async (body: object): Promise<unknown> => {
        const { result } = await world.act('schedule-run', { group: 'res', ...body });
        return (result as { schedules: Array<{ id: string }> }).schedules.map(({ id }) => id);
      };
      expect([await ids({}), await ids({ force: true }), await ids({ force: true, count: 2 })]).toEqual([
        ['c'],
        ['a', 'b', 'c'],
        ['a', 'b'],
      ]);
      await world.act('schedule-remove', { id: 'c' });
      await expect(world.act('schedule-run', { group: 'res' })).rejects.toMatchObject({
        code: 'schedule_disabled',
      });
      await expect(world.act('schedule-remove', { id: 'c' })).rejects.toMatchObject({
        code: 'unknown_schedule',
      });
    });
  });

  describe('the report of schedules', () => {
    it('matches the contract, with its filters', async () => {
      const world = createTestSchedules();
      await world.act('schedule-add', { ...EVERY_MINUTE, id: 'z' });
      await world.act('schedule-add', { ...EVERY_MINUTE, id: 'a', enabled: false });
      const report = await askReport(world.schedules.reports, 'schedule.list');
      expect(report).toMatchObject({ total: 2, items: [{ id: 'a' }, { id: 'z', every_seconds: 60 }] });
      const ids = async (query: Readonly<Record<string, unknown>>): Promise<string[]> =>
        (await world.list(query)).map(({ id }) => id);
      expect([
        await ids({ enabled: true }),
        await ids({ enabled: false }),
        await ids({ id: 'z', group: 'res' }),
        await ids({ group: 'parse' }),
      ]).toEqual([['z'], ['a'], ['z'], []]);
    });

    it('comes with a check that reports late and very frequent ones', async () => {
      const world = createTestSchedules({ started: false });
      await world.act('schedule-add', { ...EVERY_MINUTE, id: 'slow' });
      expect(await world.schedules.check.run(never)).toEqual({ status: 'ok', message: '1 enabled' });
      await world.act('schedule-add', { ...EVERY_MINUTE, id: 'fast', every_seconds: 9 });
      expect(await world.schedules.check.run(never)).toMatchObject({
        status: 'degraded',
        message: expect.stringMatching(/^fast: .*10 s$/),
      });
      await world.act('schedule-remove', { id: 'fast' });
      await world.clock.advance(200_000);
      expect(await world.schedules.check.run(never)).toMatchObject({
        status: 'degraded',
        message: expect.stringContaining('slow: late'),
      });
    });
  });
});

const seconds = integer({ min: 0, max: 4_000_000_000 });
const every = integer({ min: 1, max: 100_000_000 });

function schedule(change: Partial<Schedule> = {}): Schedule {
  return {
    id: 'nightly',
    group: 'res',
    origin: 'manual',
    action: 'sync',
    args: [],
    enabled: true,
    next_run_unix_seconds: 1000,
    every_seconds: 60,
    max_runs: null,
    run_count: 0,
    last_run_unix_seconds: null,
    last_task_id: null,
    last_status: null,
    skipped_overlap: 0,
    exhausted: false,
    ...change,
  };
}

describe('the times of a schedule', () => {
  describe('the next slot', () => {
    it('property: is the first of the rate after now, without drift', () => {
      assert(
        property(seconds, every, seconds, (next, interval, now) => {
          const slot = nextSlot(next, interval, now);
          expect(slot).toBeGreaterThan(now);
          expect((slot - next) % interval).toBe(0);
          expect(slot).toBeGreaterThanOrEqual(next);
          if (slot > next) expect(slot - interval).toBeLessThanOrEqual(now);
        }),
      );
    });

    it('property: delays give at most one run per slot; without delays every slot is on time', () => {
      assert(
        property(every, array(integer({ min: 0, max: 500 }), { maxLength: 50 }), (interval, lags) => {
          let state = schedule({ next_run_unix_seconds: 1000, every_seconds: interval });
          const slots: number[] = [];
          for (const lag of lags) {
            const slot = state.next_run_unix_seconds ?? 0;
            slots.push(slot);
            state = afterRun(state, { taskId: 't', status: 'queued' }, slot + lag);
          }
          expect(new Set(slots).size).toBe(slots.length);
          expect(state.run_count).toBe(lags.length);
          if (lags.every((lag) => lag < interval)) {
            expect(slots).toEqual(lags.map((_, index) => 1000 + index * interval));
          }
        }),
      );
    });
  });

  describe('a schedule', () => {
    it('is due at its second and not before, and never while it is disabled', () => {
      expect([999, 1000, 1001].map((now) => isDue(schedule(), now))).toEqual([false, true, true]);
      expect(isDue(schedule({ enabled: false }), 2000)).toBe(false);
    });

    it('runs once without an interval', () => {
      expect(
        afterRun(schedule({ every_seconds: null }), { taskId: 't', status: 'queued' }, 1003),
      ).toMatchObject({
        enabled: false,
        exhausted: false,
        next_run_unix_seconds: null,
        run_count: 1,
        last_run_unix_seconds: 1003,
        last_task_id: 't',
      });
    });

    it('ends when max_runs is reached, including requested runs', () => {
      const run = { taskId: 't', status: 'queued' };
      const one = afterRun(schedule({ max_runs: 3 }), run, 1000);
      expect(one).toMatchObject({ enabled: true, exhausted: false, next_run_unix_seconds: 1060 });
      expect(afterRequestedRuns(one, [run], 1010)).toMatchObject({
        next_run_unix_seconds: 1060,
        run_count: 2,
      });
      expect(afterRequestedRuns(one, [run, run], 1010)).toMatchObject({
        enabled: false,
        exhausted: true,
        next_run_unix_seconds: null,
        run_count: 3,
      });
    });

    it('counts a skipped slot, and not as a run', () => {
      expect(afterOverlap(schedule(), 1130)).toMatchObject({
        skipped_overlap: 1,
        run_count: 0,
        last_run_unix_seconds: null,
        next_run_unix_seconds: 1180,
      });
    });
  });
});
