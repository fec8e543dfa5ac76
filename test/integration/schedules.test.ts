import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { openDatabase } from '../../src/engine/database/database.ts';
import type { Schedule } from '../../src/engine/schedules/schedule.ts';
import { FAST_ARGUMENTS } from '../support/image-node-options.ts';
import { campaignSize, campaignTimeout } from '../support/long.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const CHILD = resolve(import.meta.dirname, '../support/schedule-daemon-child.ts');
const KILLS = campaignSize(3, 50);

async function scheduledSystem(atEnd: AtEnd = onTestFinished): Promise<TestSystem> {
  const upstream = await temporaryDirectory(atEnd);
  await writeReleaseTree(upstream, { id: 'r1', files: sampleFiles() });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: { sync: { onStart: false } },
    startNothing: true,
    atEnd,
  });
  await system.startDaemon();
  return system;
}

async function scheduleOf(system: TestSystem, id: string): Promise<Schedule> {
  const answer = await system.askDaemon(`/v1/reports/schedule.list?id=${id}`);
  const { items } = (await answer.json()) as { items: Schedule[] };
  const [schedule] = items;
  if (schedule === undefined) throw new Error(`no schedule ${id}`);
  return schedule;
}

/** Content of the database while no daemon runs: the counted runs and their tasks. */
function stored(system: TestSystem, id: string): { readonly runs: number; readonly tasks: number } {
  const database = openDatabase(join(system.directory, 'data', 'main.db'));
  try {
    const row = database
      .prepare(
        `SELECT run_count AS runs, (SELECT count(*) FROM task WHERE schedule_id = schedule.id) AS tasks
         FROM schedule WHERE id = :id`,
      )
      .get({ id });
    return { runs: Number(row?.['runs']), tasks: Number(row?.['tasks']) };
  } finally {
    database.close();
  }
}

describe('a schedule of a real daemon', () => {
  it(
    `runs every second, and no run is lost or repeated over ${KILLS} kills`,
    { timeout: campaignTimeout(KILLS, 60_000) },
    async () => {
      const system = await scheduledSystem();
      const random = createRandom(7);
      await system.control('schedule-add', {
        id: 'tick',
        group: 'res',
        action: 'sync',
        every_seconds: 1,
        next_run_unix_seconds: 1000,
      });
      let before = 0;
      for (let round = 0; round < KILLS; round += 1) {
        const { run_count: seen } = await until(async () => {
          const schedule = await scheduleOf(system, 'tick');
          return schedule.run_count > before && schedule.last_status === 'succeeded' ? schedule : null;
        });
        // The next run is about to begin, begins, or has begun when the process dies.
        const at = Date.now() + 1000 - (Date.now() % 1000) + random.below(30);
        while (Date.now() < at) await new Promise((wake) => setImmediate(wake));
        await system.daemon.kill();
        const { runs, tasks } = stored(system, 'tick');
        expect(tasks).toBe(runs);
        expect(runs).toBeGreaterThanOrEqual(seen);
        before = runs;
        await system.startDaemon();
      }
      const after = await until(async () => {
        const schedule = await scheduleOf(system, 'tick');
        return schedule.run_count > before && schedule.last_status === 'succeeded' ? schedule : null;
      });
      expect(after.next_run_unix_seconds).toBeLessThanOrEqual(Math.floor(Date.now() / 1000) + 1);
      expect(await system.daemon.stop()).toBe(0);
      const { runs, tasks } = stored(system, 'tick');
      expect(tasks).toBe(runs);
    },
  );

  it('killed between the task and the next slot runs the slot once', async () => {
    const system = await scheduledSystem();
    await system.control('schedule-add', {
      id: 'once',
      group: 'res',
      action: 'sync',
      delay_seconds: 0,
      enabled: false,
    });
    expect(await system.daemon.stop()).toBe(0);
    const path = join(system.directory, 'data', 'main.db');
    const database = openDatabase(path);
    database.prepare(`UPDATE schedule SET enabled = 1`).run();
    database.close();
    const child = spawn(process.execPath, [...FAST_ARGUMENTS, CHILD, path, 'once'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
    expect(stored(system, 'once')).toEqual({ runs: 0, tasks: 0 });
    await system.startDaemon();
    await until(async () => (await scheduleOf(system, 'once')).last_status === 'succeeded');
    expect(await system.daemon.stop()).toBe(0);
    expect(stored(system, 'once')).toEqual({ runs: 1, tasks: 1 });
  });

  const unchanged = reusedFixture(scheduledSystem);

  it('is there without any call, and follows the configuration at a reload', async () => {
    const system = await unchanged();
    expect(await scheduleOf(system, 'configured:sync')).toMatchObject({
      origin: 'configured',
      enabled: true,
      every_seconds: 900,
    });
    const text = await readFile(system.daemonConfiguration, 'utf8');
    const configuration = parse(text) as { sync: object };
    Object.assign(configuration.sync, { intervalSeconds: 60 });
    await writeFile(system.daemonConfiguration, stringify(configuration));
    await system.run('reload');
    expect(await scheduleOf(system, 'configured:sync')).toMatchObject({ every_seconds: 60 });
    await expect(system.control('schedule-remove', { id: 'configured:sync' })).rejects.toThrow(
      'sync.intervalSeconds',
    );
    await writeFile(system.daemonConfiguration, text);
    await system.run('reload');
  });

  it('is refused in the words of the contract', async () => {
    const system = await unchanged();
    const refusal = async (action: string, body: object): Promise<unknown> => {
      const answer = await system.askDaemon(`/v1/control/${action}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return [answer.status, ((await answer.json()) as { code: string }).code];
    };
    const add = { id: 'a', group: 'res', action: 'sync', every_seconds: 3600 };
    await system.control('schedule-add', add);
    expect([
      await refusal('schedule-add', add),
      await refusal('schedule-add', { ...add, id: 'b', action: 'restart' }),
      await refusal('schedule-add', { ...add, id: 'b', group: 'i18n', action: 'publish' }),
      await refusal('schedule-add', { ...add, id: 'b', args: ['count=1'] }),
      await refusal('schedule-remove', { id: 'nobody' }),
      await refusal('schedule-update', { id: 'a', delay_seconds: 1, next_run_unix_seconds: 1 }),
      await refusal('schedule-update', { id: 'a' }),
    ]).toEqual([
      [409, 'schedule_exists'],
      [400, 'action_not_schedulable'],
      [400, 'action_not_schedulable'],
      [400, 'invalid_request'],
      [404, 'unknown_schedule'],
      [400, 'invalid_request'],
      [400, 'invalid_request'],
    ]);
    await system.control('schedule-remove', { id: 'a' });
  });
});
