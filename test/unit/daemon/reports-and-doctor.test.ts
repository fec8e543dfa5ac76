import type { Database } from '../../../src/engine/database/sqlite-database.ts';
import { partial } from '../../support/partial.ts';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { REPORTS } from '../../../src/contract/reports/reports.ts';
import { createClockCheck, type RecordedTime } from '../../../src/daemon/reports/clock-check.ts';
import { createDataSpace } from '../../../src/daemon/reports/data-space.ts';
import {
  crashLoopOf,
  dataChecks,
  databaseCheck,
  laneCheck,
  processCheck,
  releaseChecks,
  storeChecks,
} from '../../../src/daemon/reports/doctor-checks.ts';
import type { DoctorCheck } from '../../../src/engine/check.ts';
import { createDoctor, doctorReport, type Doctor } from '../../../src/daemon/reports/doctor-report.ts';
import { createLogRing, logReport } from '../../../src/daemon/reports/log-ring.ts';

import { createTaskReports } from '../../../src/daemon/reports/task-reports.ts';
import { noFailpoints } from '../../../src/platform/files/failpoints.ts';
import { createLogger } from '../../../src/platform/logging/logging.ts';
import { unixSeconds } from '../../../src/platform/process/clock.ts';
import { stagingRoot } from '../../../src/snapshot/volume/layout.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { openWriterAt } from '../../support/open-writer.ts';
import { askReport } from '../../support/reports.ts';
import { createTestEngine, scriptedHandler, settle } from '../../support/task-engine.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const never = new AbortController().signal;

function doctorOf(checks: readonly DoctorCheck[], clock: FakeClock, lines: string[] = []): Doctor {
  const logger = createLogger({
    name: 'test',
    level: 'info',
    destination: { write: (line) => lines.push(line) },
  });
  return createDoctor({ checks, clock, logger, timeoutMs: 1000 });
}

describe('the reports of the daemon', () => {
  describe('the reports of tasks', () => {
    it('bound the members of a task in the list, however many are short', async () => {
      const { engine } = createTestEngine();
      engine.jobs.register(scriptedHandler('sync'));
      const args = Object.fromEntries(
        Array.from({ length: 200 }, (_, at) => [`member_${at}`, 'x'.repeat(100)]),
      );
      engine.submit({ kind: 'sync', args, dedupe: true });
      const { items } = await askReport(createTaskReports(engine), 'task.list');
      expect(items[0]?.args).toEqual({ omitted: expect.any(String) as string });
    });

    it('match the contract', async () => {
      const { engine } = createTestEngine();
      const sync = scriptedHandler('sync');
      engine.jobs.register(sync);
      engine.start();
      const { task } = engine.submit({
        kind: 'sync',
        args: { release_id: 'r1', note: 'x'.repeat(5000) },
        dedupe: true,
      });
      await settle();
      sync.runs[0]?.context.log('info', 'catalog fetched', { entries: 3 });
      const reports = createTaskReports(engine);
      const list = await askReport(reports, 'task.list');
      expect(list.items[0]?.args).toEqual({
        release_id: 'r1',
        omitted: 'long members; see task.status, or `slipway ctl task show`',
      });
      const query = { task_id: task.task_id };
      const status = await askReport(reports, 'task.status', query);
      expect(status.task.args).toEqual(task.args);
      expect(status.course).toEqual([]);
      sync.runs[0]?.context.progress(1, 2, 'bytes', 'download');
      expect((await askReport(reports, 'task.status', query)).course).toMatchObject([
        { phase: 'download', unit: 'bytes', total: 2, samples: [{ done: 1 }] },
      ]);
      const logs = await askReport(reports, 'task.logs', query);
      expect(logs).toMatchObject({
        task_id: task.task_id,
        truncated: false,
        lines: [
          { seq: 1, msg: 'sync started' },
          { seq: 2, level: 'info', msg: 'catalog fetched', fields: { entries: 3 } },
        ],
      });
      for (const name of ['task.status', 'task.logs'] as const) {
        await expect(askReport(reports, name, { task_id: 'nope' })).rejects.toMatchObject({
          code: 'unknown_task',
        });
      }
    });
  });

  describe('the report of the log', () => {
    it('has the newest lines, oldest first, and passes every line on', async () => {
      const written: string[] = [];
      const ring = createLogRing({ write: (line) => written.push(line) });
      const logger = createLogger({ name: 'test', level: 'info', destination: ring });
      logger.debug('not this');
      for (let n = 1; n <= 2500; n += 1) logger.info({ task_id: `t${n}`, token: 'canary' }, `line ${n}`);
      expect(written).toHaveLength(2500);
      const report = logReport(ring);
      const { lines } = REPORTS['daemon.logs'].answer.body.parse(
        await report.answer(new URLSearchParams('tail=3'), never),
      );
      expect(lines.map(({ msg, task_id, level }) => [msg, task_id, level])).toEqual([
        ['line 2498', 't2498', 'info'],
        ['line 2499', 't2499', 'info'],
        ['line 2500', 't2500', 'info'],
      ]);
      expect(lines[0]?.ts).toBeCloseTo(Date.now() / 1000, -2);
      const all = ring.tail(5000);
      expect([all.length, all[0]?.msg, JSON.stringify(all).includes('canary')]).toEqual([
        2000,
        'line 501',
        false,
      ]);
    });

    it('keeps the fields of a line, cut to a bounded length', async () => {
      const ring = createLogRing({ write: () => undefined });
      const logger = createLogger({ name: 'test', version: '1', level: 'info', destination: ring });
      const error = new Error('disk full');
      error.stack = `Error: disk full\n${'at somewhere\n'.repeat(200)}`;
      logger.warn({ err: error, path: 'p'.repeat(5_000), entries: 3, task_id: 't1' }, 'cannot write');
      logger.info('plain');
      logger.info(Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`f${n}`, n])), 'many');
      const { lines } = REPORTS['daemon.logs'].answer.body.parse(
        await logReport(ring).answer(new URLSearchParams('tail=3'), never),
      );
      expect(lines[0]).toMatchObject({ msg: 'cannot write', task_id: 't1' });
      expect(lines[0]?.fields).toEqual({ err: 'disk full', path: 'p'.repeat(500), entries: 3 });
      expect(lines[1]?.fields).toBeUndefined();
      expect(Object.keys(lines[2]?.fields ?? {})).toHaveLength(20);
    });
  });

  describe('the doctor', () => {
    it('looks soon after the start, every minute, and every ten seconds while a check fails, also one that a request found', async () => {
      const clock = new FakeClock();
      const looks: number[] = [];
      let status: 'ok' | 'failing' = 'ok';
      const run = (): { readonly status: 'ok' | 'failing'; readonly message: string } => {
        looks.push(clock.monotonic() / 1000);
        return { status, message: 'told' };
      };
      const doctor = doctorOf([{ id: 'a', run }], clock, []);
      doctor.start();
      onTestFinished(async () => await doctor.stop());
      await clock.advance(125_000);
      status = 'failing';
      await doctor.examine(never);
      await clock.advance(10_000);
      status = 'ok';
      await clock.advance(90_000);
      expect(looks).toEqual([10, 70, 125, 130, 140, 200]);
    });

    it('looks immediately at what cannot wait, and gives a large database time to open', async () => {
      const clock = new FakeClock();
      const opened = Promise.withResolvers<{ status: 'failing'; message: string }>();
      const other = vi.fn(() => ({ status: 'ok', message: 'sound' }) as const);
      const checks: DoctorCheck[] = [
        { id: 'database.translation', atStart: true, run: async () => await opened.promise },
        { id: 'other', run: other },
      ];
      const doctor = doctorOf(checks, clock);
      doctor.start();
      onTestFinished(async () => await doctor.stop());
      await clock.advance(20_000);
      expect(doctor.latest()).toEqual([]);
      opened.resolve({ status: 'failing', message: 'missing' });
      await settle();
      expect(doctor.latest()).toMatchObject([{ id: 'database.translation', message: 'missing' }]);
      expect(other).not.toHaveBeenCalled();
    });

    it('notices and logs a change without being asked, so that since is when it began', async () => {
      const clock = new FakeClock();
      const lines: string[] = [];
      let status: 'ok' | 'failing' = 'ok';
      const checks: DoctorCheck[] = [
        { id: 'a', run: () => ({ status, message: 'the disk is gone' }) },
        { id: 'b', run: () => ({ status: 'degraded', message: 'since long ago', since: 1000 }) },
      ];
      const doctor = doctorOf(checks, clock, lines);
      doctor.start();
      onTestFinished(async () => await doctor.stop());
      await clock.advance(10_000);
      await settle();
      status = 'failing';
      await clock.advance(60_000);
      await settle();
      const began = Math.floor(clock.now() / 1000);
      await clock.advance(3_600_000);
      const asked = doctorReport(doctor, null).answer(new URLSearchParams(), never);
      await settle();
      const { checks: results } = REPORTS['daemon.doctor'].answer.body.parse(await asked);
      expect(results.map(({ id, since }) => [id, since])).toEqual([
        ['a', began],
        ['b', 1000],
      ]);
      expect(lines.map((line) => (JSON.parse(line) as { level: string; msg: string }).msg)).toEqual([
        'doctor: b is degraded: since long ago',
        'doctor: a is failing: the disk is gone',
      ]);
    });

    it('looks at the whole store when it is asked, and every quarter of an hour otherwise', async () => {
      const clock = new FakeClock();
      const ages: number[] = [];
      const findings = [
        { id: 'upstream', status: 'ok', message: 'reachable' },
        { id: 'verification', status: 'ok', message: 'sound' },
      ] as const;
      const checks = releaseChecks(
        partial({
          diagnostics: () => findings,
          checkStore: async (_withinMs, maxAgeMs) => {
            ages.push(maxAgeMs);
            await Promise.resolve();
          },
        }),
      );
      const doctor = doctorOf(checks, clock);
      doctor.start();
      onTestFinished(async () => await doctor.stop());
      await clock.advance(120_000);
      await settle();
      expect(ages).toEqual([900_000, 900_000]);
      expect(await doctorReport(doctor, null).answer(new URLSearchParams(), never)).toMatchObject({
        status: 'ok',
        checks: findings,
      });
      expect(ages).toEqual([900_000, 900_000, 15_000]);
    });

    it('finds crashes of the last hour, and a crash loop', async () => {
      const clock = new FakeClock();
      const now = Math.floor(clock.now() / 1000);
      const end = (secondsAgo: number, code: number | null = null) => ({
        code,
        signal: code === null ? 'SIGKILL' : null,
        at: now - secondsAgo,
        lived_seconds: 12,
        listened: true,
      });
      const look = (...ends: ReturnType<typeof end>[]) =>
        processCheck({ restarts: ends.length, ends }, clock).run(never);
      expect(await processCheck(null, clock).run(never)).toMatchObject({ status: 'ok' });
      expect(await look(end(7200), end(60, 0), end(30, 75))).toMatchObject({ status: 'ok' });
      // The restart action asks a daemon that listens; one that ends before was not asked.
      expect(await look({ ...end(60, 0), listened: false })).toMatchObject({ status: 'degraded' });
      expect(await look(end(900), end(60))).toMatchObject({ status: 'degraded', since: now - 900 });
      expect(await look(...[50, 40, 30, 20, 10].map((ago) => end(ago, 1)))).toMatchObject({
        status: 'failing',
        message: expect.stringContaining('exit code 1') as string,
        since: now - 50,
      });
      const crashLoop = (...ago: number[]) =>
        crashLoopOf({ restarts: ago.length, ends: ago.map((seconds) => end(seconds, 1)) }, clock);
      expect(crashLoopOf(null, clock)).toBeNull();
      expect(crashLoop(700, 40, 30, 20, 10)).toBeNull();
      expect(crashLoop(50, 40, 30, 20, 10)).toMatch(/^crash loop: .* 5 times .* exit code 1 at /);
      const report = doctorReport(doctorOf([], clock), { restarts: 1, ends: [end(60)] });
      expect(await report.answer(new URLSearchParams(), never)).toMatchObject({
        process: { supervised: true, restarts: 1, last_exit: { signal: 'SIGKILL', lived_seconds: 12 } },
      });
    });

    it('is as bad as the worst check and says since when', async () => {
      const clock = new FakeClock();
      let status: 'ok' | 'degraded' = 'ok';
      const checks: DoctorCheck[] = [
        { id: 'a', run: () => ({ status, message: 'a' }) },
        { id: 'b', run: () => ({ status: 'ok', message: 'b' }) },
      ];
      const report = doctorReport(doctorOf(checks, clock), null);
      const ask = async (): Promise<{ status: string; checks: Array<{ id: string; since: number }> }> =>
        REPORTS['daemon.doctor'].answer.body.parse(await report.answer(new URLSearchParams(), never));
      const first = await ask();
      expect(first.status).toBe('ok');
      await clock.advance(60_000);
      status = 'degraded';
      const second = await ask();
      expect(second.status).toBe('degraded');
      expect(second.checks.map((check) => check.since - (first.checks[0]?.since ?? 0))).toEqual([60, 0]);
    });

    it('counts a check that throws or hangs as failing', async () => {
      const clock = new FakeClock();
      const checks: DoctorCheck[] = [
        {
          id: 'throws',
          run: () => {
            throw new Error('EIO: the disk is gone');
          },
        },
        { id: 'hangs', run: async () => await new Promise(() => undefined) },
      ];
      const answer = doctorReport(doctorOf(checks, clock), null).answer(new URLSearchParams(), never);
      await clock.advance(1000);
      expect(await answer).toMatchObject({
        status: 'failing',
        checks: [
          { id: 'throws', status: 'failing', message: 'EIO: the disk is gone' },
          { id: 'hangs', status: 'failing', message: 'no answer within 1000 ms' },
        ],
      });
    });

    it('checks the store in its current state', async () => {
      const root = await temporaryDirectory();
      const writer = await openWriterAt({ root, failpoints: noFailpoints, clock: new FakeClock() });
      const look = async (free = 5e10): Promise<unknown[]> => {
        const checks = storeChecks(root, { ...writer, freeBytes: async () => free }, 'boot');
        return await Promise.all(
          checks.map(async (check) => {
            return (await check.run(never)).status;
          }),
        );
      };
      expect(await look()).toEqual(['ok', 'ok', 'ok']);
      expect(await look(500e6)).toEqual(['ok', 'ok', 'degraded']);
      expect(await look(1e6)).toEqual(['ok', 'ok', 'failing']);
      expect(await writer.listStaging()).toEqual([]);
      await rm(stagingRoot(root), { recursive: true });
      await rm(join(root, 'FORMAT'));
      await mkdir(join(root, 'elsewhere'));
      expect(await look()).toEqual(['failing', 'failing', 'ok']);
    });

    it('checks the folder of the databases', async () => {
      const directory = await temporaryDirectory();
      const look = async (type: number): Promise<string[]> => {
        const checks = dataChecks(directory, 'boot', async () => ({ type }));
        return await Promise.all(checks.map(async (check) => (await check.run(never)).status));
      };
      const ext4 = 0xef53;
      const nfs = 0x6969;
      expect(await look(ext4)).toEqual(['ok', 'ok']);
      expect(await look(nfs)).toEqual(['ok', 'failing']);
      expect(await readdir(directory)).toEqual([]);
      const [writable] = dataChecks(join(directory, 'gone'), 'boot');
      expect(await writable?.run(never)).toMatchObject({
        status: 'failing',
        message: expect.stringContaining('ENOENT') as unknown,
        lacksSpace: false,
      });
    });

    it('reports a damaged database after the hourly check, and does not wait for that check', async () => {
      const clock = new FakeClock();
      const check = Promise.withResolvers<string | null>();
      let checks = 0;
      const database: Database = partial({
        path: '/data/main.db',
        schemaVersion: 9,
        checkStructure: async () => {
          checks += 1;
          return await check.promise;
        },
      });
      const doctorCheck = databaseCheck('database.main', database, clock);
      expect([await doctorCheck.run(never), checks]).toEqual([
        { status: 'ok', message: 'sound, schema 9' },
        0,
      ]);
      await clock.advance(3_600_000);
      for (let look = 0; look < 2; look += 1)
        expect(await doctorCheck.run(never)).toMatchObject({ status: 'ok' });
      expect(checks).toBe(1);
      check.resolve('Tree 3 page 7: malformed');
      await settle();
      expect(await doctorCheck.run(never)).toMatchObject({
        status: 'failing',
        message: expect.stringContaining('damaged: Tree 3 page 7') as unknown,
      });
    });

    it('checks database, lanes and clock', async () => {
      const { engine, database, clock } = createTestEngine();
      engine.jobs.register(scriptedHandler('sync'));
      engine.start();
      const checks = [
        databaseCheck('database.main', database, clock),
        laneCheck(engine),
        createClockCheck(clock, () => []).check,
      ];
      const look = async (): Promise<string[]> =>
        await Promise.all(checks.map(async (check) => (await check.run(never)).status));
      expect(await look()).toEqual(['ok', 'ok', 'ok']);
      for (let n = 0; n < 103; n += 1) {
        engine.submit({ kind: 'sync', args: { n }, dedupe: false });
        if (n === 0) await settle();
      }
      clock.jumpTo(clock.now() - 3_600_000);
      await settle();
      expect(await look()).toEqual(['ok', 'degraded', 'degraded']);
      // The running task is named behind any number of newer ones.
      expect((await laneCheck(engine).run(never)).message).toContain('1 running (release: sync ');
    });
  });
});

describe('the check of the wall clock', () => {
  it('says that the wall clock is behind recorded times, until they are replaced', async () => {
    const clock = new FakeClock();
    const now = unixSeconds(clock);
    let recorded: readonly RecordedTime[] = [{ what: 'the last sync ended', at: now + 60 }];
    const look = createClockCheck(clock, () => recorded);
    expect(look.isBehindRecords()).toBe(false);
    expect(await look.check.run(never)).toMatchObject({ status: 'ok' });
    recorded = [...recorded, { what: 'release r1 was verified', at: now + 3600 }];
    expect(look.isBehindRecords()).toBe(true);
    expect(await look.check.run(never)).toMatchObject({
      status: 'degraded',
      message: expect.stringMatching(
        /behind recorded times by 3600 s: release r1 was verified at /,
      ) as string,
    });
    recorded = [];
    expect(look.isBehindRecords()).toBe(false);
    expect(await look.check.run(never)).toMatchObject({ status: 'ok' });
  });
});

describe('the space of the databases', () => {
  it('says since when the volume of the databases is full, to the doctor and to the conditions', async () => {
    const clock = new FakeClock();
    let free = 5000;
    let inodes = 5;
    const space = createDataSpace({
      directory: '/data',
      clock,
      look: () => ({ bavail: free, bsize: 1024 * 1024, files: 10, ffree: inodes }),
    });
    const statusNow = async (): Promise<string> => (await space.check.run(never)).status;
    expect([space.fullSince(), await statusNow()]).toEqual([null, 'ok']);
    free = 200;
    expect([space.fullSince(), await statusNow()]).toEqual([null, 'degraded']);
    free = 10;
    const since = Math.floor(clock.now() / 1000);
    expect(space.fullSince()).toBe(since);
    await clock.advance(5000);
    expect(space.fullSince()).toBe(since);
    expect(await space.check.run(never)).toMatchObject({
      status: 'failing',
      message: expect.stringContaining('data.dir') as string,
      since,
    });
    // A little above the limit is not enough, so that the state does not change each second.
    free = 79;
    expect([space.fullSince(), await statusNow()]).toEqual([since, 'failing']);
    expect((await space.check.run(never)).message).toMatch(
      /^79\.0 MiB are free .* full until 80\.0 MiB are free; /,
    );
    free = 80;
    expect([space.fullSince(), await statusNow()]).toEqual([null, 'degraded']);
    free = 65;
    expect(space.fullSince()).toBe(null);
    free = 5000;
    expect([space.fullSince(), await statusNow()]).toEqual([null, 'ok']);
    // Free bytes do not help without a free inode.
    inodes = 0;
    expect([space.fullSince(), await statusNow()]).toEqual([Math.floor(clock.now() / 1000), 'failing']);
    expect((await space.check.run(never)).message).toContain(
      'until 80.0 MiB and at least one inode are free',
    );
    inodes = 5;
    expect([space.fullSince(), await statusNow()]).toEqual([null, 'ok']);
  });

  it('does not take a folder that cannot be read for a full one', () => {
    const space = createDataSpace({
      directory: '/data',
      clock: new FakeClock(),
      look: () => {
        throw new Error('ENOENT');
      },
    });
    expect(space.fullSince()).toBe(null);
    expect(() => space.check.run(never)).toThrow('ENOENT');
  });
});
