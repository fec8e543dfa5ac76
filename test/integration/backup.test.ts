import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import type { Schedule } from '../../src/engine/schedules/schedule.ts';
import { addRows, countRows, damagePages, isWhole, NAMES } from '../support/backups.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { until } from '../support/until.ts';

const PROGRAM = resolve(import.meta.dirname, '../../cmd/slipway.ts');

async function restore(
  args: readonly string[],
): Promise<{ readonly code: unknown; readonly output: string }> {
  const child = spawn(process.execPath, [PROGRAM, 'restore', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code: code as unknown, output: out + err };
}

/** Adds a schedule that runs the job once, and waits until its task has ended. */
async function backUpOnce(system: TestSystem, id: string): Promise<string> {
  await system.control('schedule-add', {
    id,
    group: 'i18n',
    action: 'backup',
    delay_seconds: 0,
    max_runs: 1,
  });
  return await until(async () => {
    const answer = await system.askDaemon(`/v1/reports/schedule.list?id=${id}`);
    const { items } = (await answer.json()) as { items: Schedule[] };
    const status = items[0]?.last_status ?? '';
    return ['succeeded', 'failed'].includes(status) ? status : null;
  });
}

async function checkOf(system: TestSystem): Promise<{ readonly status: string; readonly message: string }> {
  const answer = await system.askDaemon('/v1/reports/daemon.doctor');
  const { checks } = (await answer.json()) as {
    checks: ReadonlyArray<{ readonly id: string; readonly status: string; readonly message: string }>;
  };
  const found = checks.find(({ id }) => id === 'backup');
  if (found === undefined) throw new Error('the doctor has no check "backup"');
  return found;
}

it('a schedule that runs once backs up a running daemon; the backup is restored while it is stopped', async () => {
  const system = await startSystem({
    upstream: { kind: 'none' },
    daemon: { backup: { keep: 1 } },
    startNothing: true,
  });
  const data = join(system.directory, 'data');
  const path = (name: string): string => join(data, `${name}.db`);
  await mkdir(data, { recursive: true });
  for (const name of NAMES) addRows(path(name), 300);
  await system.startDaemon();
  expect(await (await system.askDaemon('/v1/reports/schedule.list?group=i18n')).json()).toMatchObject({
    items: [{ id: 'configured:backup', origin: 'configured', enabled: true, every_seconds: 86_400 }],
  });
  expect(await backUpOnce(system, 'first')).toBe('succeeded');
  const [name = ''] = await readdir(join(data, 'backups'));
  const from = join(data, 'backups', name);
  expect(await isWhole(from)).toBe(true);
  await expect
    .poll(async () => await checkOf(system))
    .toMatchObject({
      status: 'ok',
      message: expect.stringContaining(`the newest complete backup is ${name}`) as unknown,
    });
  const options = ['--from', from, '--data', data, '--database', 'memory'];
  expect(await restore(options)).toMatchObject({
    code: 1,
    output: expect.stringContaining('stop it and its supervisor first') as unknown,
  });

  damagePages(path('memory'));
  expect(await backUpOnce(system, 'second')).toBe('failed');
  await expect
    .poll(async () => await checkOf(system))
    .toMatchObject({
      status: 'degraded',
      message: expect.stringMatching(/backup_incomplete[\s\S]*memory\.db is damaged/) as unknown,
    });
  expect(await isWhole(from)).toBe(true);

  expect(await system.daemon.stop()).toBe(0);
  expect(await restore(options)).toMatchObject({ code: 0 });
  expect(countRows(path('memory'))).toBe(300);
  await system.startDaemon();
  expect(await backUpOnce(system, 'third')).toBe('succeeded');
  await expect.poll(async () => await checkOf(system)).toMatchObject({ status: 'ok' });
});
